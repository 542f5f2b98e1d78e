package history

import "github.com/toolrunner/toolrunner/internal/media"

// A request with many images has a lower limit for the size of each: this file counts
// those of messages, so that none enters by which the history could not be sent any more.

// look takes note of the images in the message.
func (m *Message) look() {
	p := media.Of(m.Raw)
	m.Images, m.Side = int32(p.Count), int32(p.Side) //nolint:gosec // a message of that size does not fit into memory
}

// Pictures returns the images in the message.
func (m *Message) Pictures() media.Pictures {
	return media.Pictures{Count: int(m.Images), Side: int(m.Side)}
}

// Pictures returns the images in the messages, those of its base included.
func (h *History) Pictures() media.Pictures {
	var all media.Pictures
	if h.Base != nil {
		all = h.Base.Pictures()
	}
	for i := range h.Messages {
		if m := &h.Messages[i]; m.Images > 0 {
			all = all.And(m.Pictures())
		}
	}
	return all
}
