package train

import "github.com/h5dnn/h5dnn/config"

// The names that Keras, PyTorch and scikit-learn have for settings of training, and flags.
var (
	_ = config.RegisterElsewhere("setting", map[string]config.Other{
		"learning_rate":    {Name: "lr", Text: "optimizer: {adam: {lr: …}}"},
		"lr":               {Name: "lr", Text: "optimizer: {adam: {lr: …}}"},
		"momentum":         {Name: "momentum", Text: "optimizer: {sgd: {momentum: …}}"},
		"weight_decay":     {Name: "weight_decay", Text: "optimizer: {adamw: {weight_decay: …}}"},
		"batch_size":       {Name: "batch"},
		"num_epochs":       {Name: "epochs"},
		"max_epochs":       {Name: "epochs"},
		"n_epochs":         {Name: "epochs"},
		"validation_split": {Name: "split", Text: "data: {split: …}"},
		"split":            {Name: "split", Text: "data: {split: …}"},
		"validation_data":  {Name: "val_x", Text: "data: {val_x: PATH, val_y: PATH}"},
		"criterion":        {Name: "loss"},
		"lr_scheduler":     {Name: "schedule"},
		"scheduler":        {Name: "schedule"},
		"random_state":     {Name: "seed"},
		"max_grad_norm":    {Name: "clip_norm"},
		"clipnorm":         {Name: "clip_norm"},
		"clipvalue":        {Name: "clip_value"},
		"accumulation":     {Name: "accumulate"},
		"num_classes":      {Name: "classes"},
		"sample_weight":    {Name: "weights", Text: "data: {weights: PATH}"},
		"ema_decay":        {Name: "ema"},
		"layers":           {Name: "model"},
		"inputs":           {Name: "x", Text: "data: {x: PATH}"},
		"targets":          {Name: "y", Text: "data: {y: PATH}"},
		"labels":           {Name: "y", Text: "data: {y: PATH}"},
	})
)
