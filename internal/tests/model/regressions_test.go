package model

func tolerated(kind string) bool {
	switch kind {
	case "request/paused-call", "continued/caller-unknown", "request/caller-unknown":
		return true
	}
	return false
}
