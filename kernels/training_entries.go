package kernels

// TrainingEntries names the entries of package device that steps of common models launch in
// float32. GPUs load them in parallel before the first step. A test of package train
// says which are missing.
var TrainingEntries = []string{
	"act_grad_bias_f32", "act_grad_bias_wide_f32", "adam_f32", "add_metrics_f32", "channel_map_f32",
	"channel_sums_f32", "clamp_all_f32", "clip_factor", "conv_f32", "conv_grad_w_f32", "conv_grad_w_splits_f32",
	"conv_grad_w_thin_f32", "conv_grad_x_thin_f32", "conv_thin_f32", "copy_4", "cross_entropy_f32", "dropout_f32",
	"max_pool_2x2_f32", "max_pool_2x2_grad_f32", "norm_grad_f32", "norm_grad_pivot_f32", "norm_pivot_f32",
	"norm_train_f32", "product_f32", "product_splits_f32", "product_thin_f32", "scale_all_f32", "sgd_f32",
	"square_sums_f32", "sum_columns_f32", "take_1", "take_cast_f32",
}
