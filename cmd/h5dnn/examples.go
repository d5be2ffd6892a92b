package main

import "strings"

// examples are command lines that --help shows, by command. They run one after the
// other beside testdata/digits.h5, as a test does.
var examples = []struct{ command, args string }{
	{"inspect", "digits.h5"},
	{"inspect", "digits.h5 --stats"},
	{"slice", "'digits.h5:/test/images[0, 2:]'"},
	{"slice", "'digits.h5:/test/images[:100]' -o digits.png"},
	{"convert", "digits.h5 digits.npz --verify"},
	{"verify", "digits.h5"},
	{"diff", "digits.h5 digits.npz"},
	{"repack", "digits.h5 fast.h5 --layout train"},
	{"import", "digits.npz again.h5"},
	{"init", "digits.h5 digits.yaml"},
	{"init", "digits.h5 restored.yaml -x train/images --task reconstruct"},
	{"preview", "digits.yaml --count 9 -o grid.png"},
	{"train", "digits.yaml --epochs 2 -o run.h5"},
	{"train", "--resume run.h5 --epochs 3"},
	{"train", "--data digits.h5 --x train/images --y train/labels --split 0.1 --model mlp --epochs 1 -o mlp.h5"},
	{"eval", "run.h5"},
	{"runs", "run.h5 mlp.h5 --sort val_accuracy"},
	{"report", "run.h5"},
	{"strip", "run.h5 weights.safetensors"},
	{"cast", "weights.safetensors half.h5dn --to bf16"},
	{"shard", "weights.safetensors model.safetensors.index.json --size 100KiB"},
	{"merge", "model.safetensors.index.json merged.h5dn"},
	{"repair", "merged.h5dn repaired.npz"},
	{"predict", "run.h5 'digits.h5:/test/images[:4]' --as classes -o - --format csv"},
	{"generate", "gpt.h5 --prompt 'func main' --tokens 100 --temperature 0.8 --top-k 40"},
	{"doctor", "digits.h5"},
	{"devices", ""},
	{"help", "adamw"},
	{"completion", "bash"},
	{"version", ""},
}

// examplesOf returns the examples of a command as --help shows them.
func examplesOf(command string) string {
	var b strings.Builder
	for _, e := range examples {
		if e.command == command {
			b.WriteString(strings.TrimRight("\n  h5dnn "+e.command+" "+e.args, " "))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "Examples:" + b.String()
}
