package dtype

import "fmt"

// promotion holds the common type of a and b at [a][b]: PyTorch's, or NumPy's where
// PyTorch has none.
//
//   - bool is promoted to any other type, integers to floats, floats to complex numbers,
//     whatever the sizes: int64 with float16 is float16, as in PyTorch;
//   - within a kind the wider wins; uint and int give the narrowest int that
//     holds both, and uint64 with a signed integer float64, as in NumPy;
//   - float16 with bfloat16 is float32, as neither holds the other;
//   - complex64 with float64 is complex128.
//
// NumPy differs where integers meet smaller floats, which it widens until they hold the integers
// (int32 with float32 is float64 there), and where numbers without a type meet integers and bools, which become
// float64 and complex128. testdata/promotion.txt has the answers of both for every pair.
var promotion = [...][16]Type{
	{}, // of Invalid
	// -  Bool u8   u16  u32  u64  i8   i16  i32  i64  f16  bf16 f32  f64  c64  c128
	{no, bl, u8, u16, u32, u64, i8, i16, i32, i64, f16, b16, f32, f64, c64, c128},
	{no, u8, u8, u16, u32, u64, i16, i16, i32, i64, f16, b16, f32, f64, c64, c128},
	{no, u16, u16, u16, u32, u64, i32, i32, i32, i64, f16, b16, f32, f64, c64, c128},
	{no, u32, u32, u32, u32, u64, i64, i64, i64, i64, f16, b16, f32, f64, c64, c128},
	{no, u64, u64, u64, u64, u64, f64, f64, f64, f64, f16, b16, f32, f64, c64, c128},
	{no, i8, i16, i32, i64, f64, i8, i16, i32, i64, f16, b16, f32, f64, c64, c128},
	{no, i16, i16, i32, i64, f64, i16, i16, i32, i64, f16, b16, f32, f64, c64, c128},
	{no, i32, i32, i32, i64, f64, i32, i32, i32, i64, f16, b16, f32, f64, c64, c128},
	{no, i64, i64, i64, i64, f64, i64, i64, i64, i64, f16, b16, f32, f64, c64, c128},
	{no, f16, f16, f16, f16, f16, f16, f16, f16, f16, f16, f32, f32, f64, c64, c128},
	{no, b16, b16, b16, b16, b16, b16, b16, b16, b16, f32, b16, f32, f64, c64, c128},
	{no, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f64, c64, c128},
	{no, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, f64, c128, c128},
	{no, c64, c64, c64, c64, c64, c64, c64, c64, c64, c64, c64, c64, c128, c64, c128},
	{no, c128, c128, c128, c128, c128, c128, c128, c128, c128, c128, c128, c128, c128, c128, c128},
}

var (
	no, bl, u8, u16, u32, u64 = Invalid, Bool, Uint8, Uint16, Uint32, Uint64
	i8, i16, i32, i64         = Int8, Int16, Int32, Int64
	f16, b16, f32, f64        = Float16, BFloat16, Float32, Float64
	c64, c128                 = Complex64, Complex128
)

// Promote returns the type of the result of an operation on a and b. The 8-bit floats
// have none: convert them first.
func Promote(a, b Type) (Type, error) {
	for _, t := range []Type{a, b} {
		if !t.Valid() || t.StorageOnly() {
			return Invalid, fmt.Errorf("%v with %v: operations do not take %v; convert it first: %w", a, b, t, ErrType)
		}
	}
	return promotion[a.number][b.number], nil
}

// PromoteNumber returns the type of the result of an operation on elements of type t and a single
// number of type number, which counts only by its kind, as PyTorch's scalars do: an integer beside int8
// leaves int8, beside bools it gives int64; a float beside integers gives float32; a complex number
// gives complex64, and complex128 beside float64.
func PromoteNumber(t, number Type) (Type, error) {
	switch {
	case number == Bool || number.IsInt() && t.IsInt() || number.kind() == t.kind():
		number = t
	case number.IsInt():
		number = Int64
	case number.IsFloat():
		number = Float32
	case number.IsComplex():
		number = Complex64
	}
	return Promote(t, number)
}
