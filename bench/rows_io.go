package main

var ioRows = []row{
	{name: "whole read, gzip chunks; d[:]", bar: 1. / 6, prepare: whole},
	{name: "shuffled batches of 128, contiguous; fancy indexing", bar: 1. / 50, prepare: keptEpochs(contiguous)},
	{name: "the first epoch, shuffled in batches of 128, gzip chunks; fancy indexing, 8 of 469 batches timed", bar: 1. / 500, prepare: firstEpoch},
	{name: "the first epoch, shuffled in batches of 128, gzip chunks; DataLoader, two workers, 40 of 469 batches timed", bar: 1. / 500, prepare: firstEpoch},
	{name: "the first epoch, shuffled in batches of 128, gzip chunks; every chunk decoded once on all cores", bar: 1.5, prepare: firstEpoch, beside: decode},
	{name: "strided slice [:, 7:21:2, ::2], contiguous; the same", bar: 1. / 10, prepare: strided},
	{name: "shuffled epoch, contiguous; the same gather from a slice", bar: 1.2, prepare: keptEpochs(contiguous), beside: gather},
	{name: "later epochs, shuffled, gzip chunks kept decoded; the same gather from a slice", bar: 1.2, prepare: keptEpochs(gzipped), beside: gather},
	{name: "index a million chunks, B-tree of version 1; 1 s", bar: 1, limit: 1, prepare: indexChunks("btree1.h5")},
	{name: "index a million chunks, fixed array; 1 s", bar: 1, limit: 1, prepare: indexChunks("fixed.h5")},
	{name: "index a million chunks, extensible array; 1 s", bar: 1, limit: 1, prepare: indexChunks("extensible.h5")},
	{name: "index a million chunks, B-tree of version 2; 1 s", bar: 1, limit: 1, prepare: indexChunks("btree2.h5")},
	{name: "inspect, 100,000 datasets; h5ls -r", bar: 0.5, prepare: command(many, "bin/h5dnn", "inspect"), beside: command(many, "h5ls", "-r")},
	{name: "first output of inspect, MNIST; 20 ms", bar: 1, limit: 0.02, prepare: firstOutput},
	{name: "shuffled epoch, 12 GiB contiguous, in the page cache; sequential read", bar: 1 / 0.9, most: 512 << 20, prepare: largeEpoch("contiguous12g.h5", warm), beside: sequential("contiguous12g.h5", warm)},
	{name: "shuffled epoch, 12 GiB contiguous, from disk; sequential read", bar: 1 / 0.9, most: 512 << 20, prepare: removing("contiguous12g.h5", largeEpoch("contiguous12g.h5", cold)), beside: sequential("contiguous12g.h5", cold)},
	{name: "shuffled epoch, 12 GiB in chunks, in the page cache; sequential read", bar: 1 / 0.9, most: 512 << 20, prepare: largeEpoch("chunked12g.h5", warm), beside: sequential("chunked12g.h5", warm)},
	{name: "shuffled epoch, 12 GiB in chunks, from disk; sequential read", bar: 1 / 0.9, most: 512 << 20, prepare: removing("chunked12g.h5", largeEpoch("chunked12g.h5", cold)), beside: sequential("chunked12g.h5", cold)},
}
