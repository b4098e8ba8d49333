package memory

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// For says which containers a script set by SetScript is for. An empty field
// matches all.
type For struct {
	UID       types.UID
	Namespace string
	Name      string // of the pod
	Container string
}

// assigned is a script with those it is for.
type assigned struct {
	to     For
	script Script
}

// SetScript gives a script to present and future containers, for starts to
// come. Of several that match, the one set last holds; one for the same For
// replaces the earlier one, and a script without runs takes it back. Scripts
// set here win over annotations, and those over what a command says.
func (r *Runtime) SetScript(to For, script Script) {
	m := r.m
	m.lock()
	defer m.unlock()
	kept := m.mu.scripts[:0:0]
	for _, a := range m.mu.scripts {
		if a.to != to {
			kept = append(kept, a)
		}
	}
	if len(script.Runs) > 0 {
		kept = append(kept, assigned{to, script})
	}
	m.mu.scripts = kept
}

// Scripts returns whom the scripts that SetScript has set are for, in the order in which they were set.
func (r *Runtime) Scripts() []For {
	m := r.m
	m.lock()
	defer m.unlock()
	all := make([]For, len(m.mu.scripts))
	for i, a := range m.mu.scripts {
		all[i] = a.to
	}
	return all
}

// Matches reports whether a script for f is one for a container of a pod.
func (f For) Matches(ref runtime.PodRef, container string) bool {
	return (f.UID == "" || f.UID == ref.UID) &&
		(f.Namespace == "" || f.Namespace == ref.Namespace) &&
		(f.Name == "" || f.Name == ref.Name) &&
		(f.Container == "" || f.Container == container)
}

// scriptLocked finds the script of a container. It reports false if there is
// none. The annotations are searched in order.
func (m *machine) scriptLocked(ref runtime.PodRef, container string, annotations ...map[string]string) (Script, bool, error) {
	for i := len(m.mu.scripts) - 1; i >= 0; i-- {
		if a := m.mu.scripts[i]; a.to.Matches(ref, container) {
			return a.script, true, nil
		}
	}
	key := AnnotationPrefix + container
	for _, set := range annotations {
		text, ok := set[key]
		if !ok {
			continue
		}
		script, err := ParseScript(text)
		if err != nil {
			return Script{}, false, fmt.Errorf("annotation %s: %w", key, err)
		}
		return script, true, nil
	}
	return Script{}, false, nil
}

// upcomingLocked is the run that the next start of a container will use, going
// by its script; a container without one has none that could fail.
func (m *machine) upcomingLocked(ref runtime.PodRef, container string, annotations ...map[string]string) (Run, error) {
	script, ok, err := m.scriptLocked(ref, container, annotations...)
	if err != nil || !ok {
		return Run{}, err
	}
	return script.run(m.startsLocked(ref.UID, container)), nil
}

// startsLocked is how many starts of a container have been counted.
func (m *machine) startsLocked(uid types.UID, container string) int {
	if p := m.mu.past[uid]; p != nil {
		if c := p.counted(container); c != nil {
			return c.starts
		}
	}
	return 0
}

// useRunLocked counts a start.
func (m *machine) useRunLocked(uid types.UID, container string) {
	*m.pastLocked(uid).startsOf(container)++
}
