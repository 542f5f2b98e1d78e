package machine

import (
	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/media"
)

// TooMany says why the images in a result of a call would make the API refuse the next
// request, with all the others that it has.
func (m *Machine) TooMany(call *Call, block []byte) error { return m.tooMany(call, block, nil) }

// tooMany says why the images in a result would make the API refuse the next request,
// with all the others that it has. claims are results that are given to other calls.
func (m *Machine) tooMany(call *Call, block []byte, claims map[*Call][]byte) error {
	if own := media.Of(block); own.Count > 0 {
		return m.pictures(call, claims).And(own).Check()
	}
	return nil
}

// pictures returns the images of the history, of the follow-ups, and of the results of
// the open turn but for that of one call.
func (m *Machine) pictures(except *Call, claims map[*Call][]byte) media.Pictures {
	all := m.s.queue.Pictures() // the history is the base of the queue
	for _, call := range m.s.open {
		block := claims[call]
		if block == nil && call.state == answered {
			block = call.block
		}
		if call != except && block != nil {
			all = all.And(media.Of(block))
		}
	}
	return all
}

// checkPictures says why the images in a follow-up would make the API refuse the request
// that it goes into.
func (m *Machine) checkPictures(draft *history.Draft, claims map[*Call][]byte) error {
	if own := media.Of(draft.Raw); own.Count > 0 {
		return m.pictures(nil, claims).And(own).Check()
	}
	return nil
}

func tooManyText(err error) string { return "Error: the tool's result cannot be sent: " + err.Error() }
