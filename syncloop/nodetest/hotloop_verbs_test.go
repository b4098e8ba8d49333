package nodetest_test

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/faulty"
)

// TestHotLoop_EveryVerbAndFault: whatever verb of the runtime goes wrong, in
// whatever way and for however long, the node makes few calls, and recovers soon
// after the fault's end.
func TestHotLoop_EveryVerbAndFault(t *testing.T) {
	base := &baselines{}
	for _, verb := range faulty.Verbs() {
		for _, f := range containerNamesAndKinds(verb) {
			rule := f.rule
			rule.Verb = verb
			within := oneBackoff
			switch hangs := rule.Do == faulty.Hang || rule.Do == faulty.HangDone; {
			case hangs && verb == faulty.PullImage:
				within += time.Hour // A pull may take as long, and is not cut short.
			case hangs && verb == faulty.RunHandler:
				within = 10 * time.Minute // A PostStart hook may take as long while its container runs.
			}
			playEachKind(t, base, verb+"/"+f.name, within, cell{rule: &rule})
		}
	}
}

type kind struct {
	name string
	rule faulty.Rule
}

// containerNamesAndKinds returns the names of a pod's init and regular containers. The name of an init container is
// followed by whether it is a sidecar.
func containerNamesAndKinds(verb string) []kind {
	var all []kind
	for f := faulty.Nothing; !strings.HasPrefix(f.String(), "Fault("); f++ {
		rule := faulty.Rule{Verb: verb, Do: f}
		if f == faulty.Nothing {
			rule.Latency = 3 * time.Second
		}
		if _, err := faulty.New(faulty.Config{Rules: []faulty.Rule{rule}}); err == nil { // It fits the verb.
			all = append(all, kind{f.String(), rule})
		}
	}
	for name, err := range map[string]error{
		"no such binary": errors.New("no such binary"), "ErrExists": runtime.ErrExists, "ErrWrongState": runtime.ErrWrongState,
		"ErrNotFound": runtime.ErrNotFound, "ErrNotReady": runtime.ErrNotReady, "ErrUnsupported": runtime.ErrUnsupported,
	} {
		all = append(all, kind{name, faulty.Rule{Do: faulty.Fail, Err: err}})
	}
	slices.SortFunc(all, func(a, b kind) int { return cmp.Compare(a.name, b.name) })
	return all
}
