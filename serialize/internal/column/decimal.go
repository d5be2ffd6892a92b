package column

import (
	"math/big"
	"slices"
	"strings"
)

// Decimal returns the exact number that a big-endian two's complement integer is, divided by a
// power of ten.
func Decimal(integer []byte, scale int) string {
	x := new(big.Int).SetBytes(integer)
	if len(integer) > 0 && integer[0] >= 0x80 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(integer))))
	}
	sign := ""
	if x.Sign() < 0 {
		sign = "-"
	}
	digits := x.Abs(x).String()
	switch {
	case scale < 0 && digits != "0":
		return sign + digits + strings.Repeat("0", -scale)
	case scale <= 0:
		return sign + digits
	case len(digits) <= scale:
		digits = strings.Repeat("0", scale+1-len(digits)) + digits
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}

// DecimalLittleEndian is Decimal of a little-endian integer.
func DecimalLittleEndian(integer []byte, scale int) string {
	reversed := slices.Clone(integer)
	slices.Reverse(reversed)
	return Decimal(reversed, scale)
}

// MaxScale is the largest power of ten by which decimals are divided or multiplied: 76 digits fit
// in 256 bits.
const MaxScale = 76
