package request

import (
	"bytes"
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// System is the system prompt as it was sent last: a long one is encoded again only
// when it has changed. The zero value holds none.
type System struct {
	blocks      []anthropic.BetaTextBlockParam
	raw         []byte
	breakpoints int
}

// Set makes s the prompt that blocks are.
func (s *System) Set(blocks []anthropic.BetaTextBlockParam) error {
	if s.raw != nil && slices.EqualFunc(s.blocks, blocks, sameText) {
		return nil
	}
	*s = System{}
	raws := make([][]byte, len(blocks))
	for i := range blocks {
		var err error
		if raws[i], err = history.EncodeJSON(blocks[i]); err != nil {
			return err
		}
		raws[i], _ = wire.Sound(raws[i])
		s.breakpoints += history.CountBreakpoints(raws[i])
	}
	s.raw = slices.Concat([]byte("["), bytes.Join(raws, []byte(",")), []byte("]"))
	s.blocks = slices.Clone(blocks)
	return nil
}

// sameText reports whether two blocks are the same for certain.
func sameText(a, b anthropic.BetaTextBlockParam) bool {
	return a.Text == b.Text && a.Type == b.Type && a.CacheControl.TTL == b.CacheControl.TTL && a.CacheControl.Type == b.CacheControl.Type &&
		isPlainText(&a) && isPlainText(&b)
}

// isPlainText reports whether a block has no members that could be changed where
// they are.
func isPlainText(b *anthropic.BetaTextBlockParam) bool {
	_, raw := b.Overrides()
	_, rawControl := b.CacheControl.Overrides()
	return !raw && !rawControl && len(b.ExtraFields()) == 0 && len(b.CacheControl.ExtraFields()) == 0 && b.Citations == nil
}
