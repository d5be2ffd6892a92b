package ptx

// decodeMov decodes mov and cvta, which copy bits: whole, taken apart or put together.
func decodeMov(d *decoder) execute {
	if to := d.arg(0); to.form == '{' {
		return d.apart()
	}
	if from := d.arg(1); from.form == '{' {
		return d.together()
	}
	if base := split(d.opcode); base[0] == "cvta" && !d.has("global") {
		d.fail("generic addresses are not known; accesses name their space")
	}
	z, x := d.to(0), d.from(1)
	return func(b *block, lanes []int32) {
		zs, xs := b.row(z), b.row(x)
		if len(lanes) == len(zs) {
			copy(zs, xs)
			return
		}
		for _, l := range lanes {
			zs[l] = xs[l]
		}
	}
}

// apart makes mov.b32 {lo, hi}, x.
func (d *decoder) apart() execute {
	_, size := d.kind()
	parts := d.list(0, d.named)
	bits := 8 * size / len(parts)
	x := d.from(1)
	return func(b *block, lanes []int32) {
		xs := b.row(x)
		for i, part := range parts {
			zs := b.row(part)
			for _, l := range lanes {
				zs[l] = xs[l] >> (i * bits) & (1<<bits - 1)
			}
		}
	}
}

// together makes mov.b32 x, {lo, hi}.
func (d *decoder) together() execute {
	_, size := d.kind()
	parts := d.list(1, d.value)
	bits := 8 * size / len(parts)
	z := d.to(0)
	return func(b *block, lanes []int32) {
		zs := b.row(z)
		for _, l := range lanes {
			word := uint64(0)
			for i, part := range parts {
				word |= b.row(part)[l] & (1<<bits - 1) << (i * bits)
			}
			zs[l] = word
		}
	}
}

// fence makes membar, which needs no work where every access is done at once.
func fence(*decoder) execute { return func(*block, []int32) {} }
