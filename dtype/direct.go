package dtype

// direct holds the frequent conversions, by the type that is written and the one that is
// read; convertRows does the rest.
var direct = TableOf(map[Type]map[Type]func(dst, src []byte){
	Float32: {
		Uint8: convertNumbers[float32, uint8], Uint16: convertNumbers[float32, uint16], Uint32: convertNumbers[float32, uint32], Uint64: convertNumbers[float32, uint64],
		Int8: convertNumbers[float32, int8], Int16: convertNumbers[float32, int16], Int32: convertNumbers[float32, int32], Int64: convertNumbers[float32, int64],
		Float16: fromSmall[F16], BFloat16: fromSmall[BF16], Float64: convertNumbers[float32, float64],
	},
	Float64: {
		Uint8: convertNumbers[float64, uint8], Uint16: convertNumbers[float64, uint16], Uint32: convertNumbers[float64, uint32], Uint64: convertNumbers[float64, uint64],
		Int8: convertNumbers[float64, int8], Int16: convertNumbers[float64, int16], Int32: convertNumbers[float64, int32], Int64: convertNumbers[float64, int64],
		Float32: convertNumbers[float64, float32],
	},
	Int64: {
		Uint8: convertNumbers[int64, uint8], Uint16: convertNumbers[int64, uint16], Uint32: convertNumbers[int64, uint32], Uint64: convertNumbers[int64, uint64],
		Int8: convertNumbers[int64, int8], Int16: convertNumbers[int64, int16], Int32: convertNumbers[int64, int32],
	},
	Int32:    {Uint8: convertNumbers[int32, uint8], Int64: convertNumbers[int32, int64]},
	Float16:  {Float32: toSmall(F16From)},
	BFloat16: {Float32: toSmall(BF16From)},
})

// convertNumbers converts as Go does, which is defined wherever it is used here: no
// floats to integers.
func convertNumbers[D, S integer | float32 | float64](dst, src []byte) {
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
