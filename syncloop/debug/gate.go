package debug

import (
	"fmt"
	"net/http"
	"sync/atomic"
)

const (
	// mostReaders is how many logs are read at once.
	mostReaders = 64
	// mostCommands is how many commands run at once.
	mostCommands = 16
)

// gate lets so many in at once.
type gate struct {
	inside atomic.Int32
	most   int32
}

// enter reports whether there is room; who has entered leaves.
func (g *gate) enter(w http.ResponseWriter) bool {
	if g.inside.Add(1) <= g.most {
		return true
	}
	g.leave()
	say(w, http.StatusServiceUnavailable, fmt.Sprintf("%d of these are under way already: end one\n", g.most))
	return false
}

func (g *gate) leave() { g.inside.Add(-1) }
