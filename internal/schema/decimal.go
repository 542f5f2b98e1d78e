package schema

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// decimal is a JSON number without loss: 0.digits times ten to the power of exp. Zero has no digits and no sign.
type decimal struct {
	neg    bool
	digits string // no zero at either end
	exp    int
}

// parseDecimal reads the text of a JSON number.
func parseDecimal(s string) decimal {
	s, neg := strings.CutPrefix(s, "-")
	exp := 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exp = parseExponent(s[i+1:])
		s = s[:i]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	digits := whole
	if fraction != "" {
		digits += fraction
	}
	significant := strings.TrimLeft(digits, "0")
	if significant == "" {
		return decimal{}
	}
	return decimal{
		neg:    neg,
		digits: strings.TrimRight(significant, "0"),
		exp:    exp + len(whole) - (len(digits) - len(significant)),
	}
}

// parseExponent keeps the exponent in a range in which sums cannot overflow.
func parseExponent(s string) int {
	const largest = 1 << 30
	n, err := strconv.Atoi(s)
	switch {
	case err != nil && strings.HasPrefix(s, "-"):
		return -largest
	case err != nil:
		return largest
	}
	return max(-largest, min(n, largest))
}

func (d decimal) compare(e decimal) int {
	if d.sign() != e.sign() {
		return cmp.Compare(d.sign(), e.sign())
	}
	// Without zeros at the ends, the order of equally large digit strings is the order of text.
	size := cmp.Or(cmp.Compare(d.exp, e.exp), strings.Compare(d.digits, e.digits))
	if d.neg {
		return -size
	}
	return size
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.neg:
		return -1
	}
	return 1
}

// isInteger reports whether d has no fraction, however it was written: 1.0 and 1e3 have none.
func (d decimal) isInteger() bool { return d.exp >= len(d.digits) }

// integer writes an integer with plain digits, of which there may be at most the given number.
func (d decimal) integer(most int) (text string, ok bool) {
	switch {
	case d.digits == "":
		return "0", true
	case !d.isInteger() || d.exp > most:
		return "", false
	}
	s := d.digits + strings.Repeat("0", d.exp-len(d.digits))
	if d.neg {
		return "-" + s, true
	}
	return s, true
}

// isMultiple reports whether d is a whole multiple of another number, which is above zero and has few digits.
func (d decimal) isMultiple(of decimal) bool {
	shift := (d.exp - len(d.digits)) - (of.exp - len(of.digits)) // of the digits, as whole numbers
	if d.digits == "" || shift < 0 {
		return d.digits == "" // without zeros at its end, no number is a multiple of ten
	}
	divisor, _ := new(big.Int).SetString(of.digits, 10)
	rest, part, ten := new(big.Int), new(big.Int), big.NewInt(10)
	for digits := d.digits; digits != ""; {
		n := min(len(digits), 18)
		chunk, _ := strconv.ParseInt(digits[:n], 10, 64)
		rest.Mul(rest, part.Exp(ten, big.NewInt(int64(n)), nil))
		rest.Mod(rest.Add(rest, part.SetInt64(chunk)), divisor)
		digits = digits[n:]
	}
	rest.Mul(rest, part.Exp(ten, big.NewInt(int64(shift)), divisor))
	return rest.Mod(rest, divisor).Sign() == 0
}
