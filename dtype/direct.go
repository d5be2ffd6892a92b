package dtype

// direct holds the conversions that data takes every day; through has the rest.
var direct = [len(types)][len(types)]func(dst, src []byte){
	Float32: {
		Uint8: plain[float32, uint8], Uint16: plain[float32, uint16], Uint32: plain[float32, uint32], Uint64: plain[float32, uint64],
		Int8: plain[float32, int8], Int16: plain[float32, int16], Int32: plain[float32, int32], Int64: plain[float32, int64],
		Float16: fromSmall[F16], BFloat16: fromSmall[BF16], Float64: plain[float32, float64],
	},
	Float64: {
		Uint8: plain[float64, uint8], Uint16: plain[float64, uint16], Uint32: plain[float64, uint32], Uint64: plain[float64, uint64],
		Int8: plain[float64, int8], Int16: plain[float64, int16], Int32: plain[float64, int32], Int64: plain[float64, int64],
		Float32: plain[float64, float32],
	},
	Int64: {
		Uint8: plain[int64, uint8], Uint16: plain[int64, uint16], Uint32: plain[int64, uint32], Uint64: plain[int64, uint64],
		Int8: plain[int64, int8], Int16: plain[int64, int16], Int32: plain[int64, int32],
	},
	Int32:    {Uint8: plain[int32, uint8], Int64: plain[int32, int64]},
	Float16:  {Float32: toSmall(F16From)},
	BFloat16: {Float32: toSmall(BF16From)},
}

// plain converts as Go does, which is defined wherever it is used here: no
// floats to integers.
func plain[D, S integer | float32 | float64](dst, src []byte) {
	d, s := Cast[D](dst), Cast[S](src)
	for i, x := range s {
		d[i] = D(x)
	}
}

func fromSmall[S small](dst, src []byte) {
	d := Cast[float32](dst)
	for i, x := range Cast[S](src) {
		d[i] = x.Float32()
	}
}

func toSmall[D small](nearest func(float32) D) func(dst, src []byte) {
	return func(dst, src []byte) {
		d := Cast[D](dst)
		for i, x := range Cast[float32](src) {
			d[i] = nearest(x)
		}
	}
}
