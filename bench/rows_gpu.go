package main

// gpuRows are timed on a GPU, each until it is done with the work. An epoch of
// MNIST is 938 steps; the peer has all samples in the GPU's memory.
var gpuRows = []row{
	{name: "epoch of MNIST, the CNN of PyTorch's example, batch 64; PyTorch", bar: 1. / 10, prepare: gpuEpochs("yes")},
	{name: "epoch of MNIST, the CNN of PyTorch's example, batch 64; PyTorch, a CUDA graph", bar: 1. / 2, prepare: gpuEpochs("yes")},
	{name: "epoch of MNIST, the CNN of PyTorch's example, batch 64; PyTorch, torch.compile", bar: 1. / 2, prepare: gpuEpochs("yes")},
	{name: "epoch of MNIST, the CNN of PyTorch's example, batch 64; 80 µs a step", bar: 1, limit: 938 * 80e-6, prepare: gpuEpochs("yes")},
	{name: "epoch of MNIST, streamed from the file; all of it on the GPU", bar: 1.1, prepare: gpuEpochs("no"), beside: gpuEpochs("yes")},
	{name: "10 products 4096, bfloat16; torch.matmul", bar: 1 / 0.95, prepare: gpuProducts("bfloat16", byLibraries)},
	{name: "10 products 4096, float32; torch.matmul, TF32", bar: 1 / 0.95, prepare: gpuProducts("float32", byLibraries)},
	{name: "10 products 4096, bfloat16, by own kernels; by libraries", bar: 1 / 0.6, prepare: gpuProducts("bfloat16", byKernels), beside: gpuProducts("bfloat16", byLibraries)},
	{name: "10 products 4096, TF32, by own kernels; by libraries", bar: 1 / 0.6, prepare: gpuProducts("float32", byKernels), beside: gpuProducts("float32", byLibraries)},
	{name: "10 steps of a 3x3 convolution of 64x32x26x26 to 64 channels, TF32, by own kernels; by libraries", bar: 1 / 0.6, prepare: gpuConvs(byKernels), beside: gpuConvs(byLibraries)},
	{name: "10 times exp of 2^28 float32; copies of as many bytes", bar: 1 / 0.85, prepare: gpuLoops(gpuExp)},
	{name: "10 times add of 2^28 float32; copies of as many bytes", bar: 1 / 0.85, prepare: gpuLoops(gpuAdd)},
	{name: "10 times sum of 2^28 float32; copies of as many bytes", bar: 1 / 0.85, prepare: gpuLoops(gpuSum)},
	{name: "20 GiB to the GPU, from a contiguous file in the page cache; from pinned memory", bar: 1 / 0.8, prepare: gpuUpload(uploadRows)},
}

// uploadRows is the number of rows, of 1 MiB, that are uploaded.
const uploadRows = 20 << 10

// smallUploadRows is their number for an interpreter, of 1 KiB each.
const smallUploadRows = 100

// hostRows are the host's part of the work with GPUs: a driver that does nothing
// plays the GPU. A step's share is to hide behind a GPU's 80 µs.
var hostRows = []row{
	{name: "epoch of MNIST, all of it on the GPU; 20 µs a step", bar: 1, limit: 938 * 20e-6, prepare: gpuEpochs("yes")},
	{name: "epoch of MNIST, streamed from the file; 40 µs a step", bar: 1, limit: 938 * 40e-6, prepare: gpuEpochs("no")},
	{name: "2 GiB into pinned memory, from a contiguous file in the page cache; read with as many threads", bar: 1.1, prepare: gpuUpload(2 << 10), beside: readThrough(2 << 10)},
}
