package memory

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// Selector says which containers a script set by SetScript is for. An empty field
// matches all.
type Selector struct {
	UID       types.UID
	Namespace string
	Name      string // of the pod
	Container string
}

// scriptRule is a script with those it is for.
type scriptRule struct {
	selector Selector
	script   Script
}

// SetScript gives a script to present and future containers, for starts to
// come. Of several that match, the one set last holds; one for the same For
// replaces the earlier one, and a script without runs takes it back. Scripts
// set here win over annotations, and those over what a command says.
func (r *Runtime) SetScript(selector Selector, script Script) {
	m := r.m
	m.lock()
	defer m.unlock()
	kept := m.mu.scriptRules[:0:0]
	for _, a := range m.mu.scriptRules {
		if a.selector != selector {
			kept = append(kept, a)
		}
	}
	if len(script.Runs) > 0 {
		kept = append(kept, scriptRule{selector, script})
	}
	m.mu.scriptRules = kept
}

// ScriptSelectors returns whom the scripts that SetScript has set are for, in the order in which they were set.
func (r *Runtime) ScriptSelectors() []Selector {
	m := r.m
	m.lock()
	defer m.unlock()
	all := make([]Selector, len(m.mu.scriptRules))
	for i, a := range m.mu.scriptRules {
		all[i] = a.selector
	}
	return all
}

// Matches reports whether a script for f is one for a container of a pod.
func (f Selector) Matches(ref runtime.PodRef, container string) bool {
	return (f.UID == "" || f.UID == ref.UID) &&
		(f.Namespace == "" || f.Namespace == ref.Namespace) &&
		(f.Name == "" || f.Name == ref.Name) &&
		(f.Container == "" || f.Container == container)
}

// findScriptLocked finds the script of a container. It reports false if there is
// none. The annotations are searched in order.
func (m *machine) findScriptLocked(ref runtime.PodRef, container string, annotations ...map[string]string) (Script, bool, error) {
	for i := len(m.mu.scriptRules) - 1; i >= 0; i-- {
		if a := m.mu.scriptRules[i]; a.selector.Matches(ref, container) {
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

// nextScriptedRunLocked is the run that the next start of a container will use, going
// by its script; a container without one has none that could fail.
func (m *machine) nextScriptedRunLocked(ref runtime.PodRef, container string, annotations ...map[string]string) (Run, error) {
	script, ok, err := m.findScriptLocked(ref, container, annotations...)
	if err != nil || !ok {
		return Run{}, err
	}
	return script.runForStart(m.startCountLocked(ref.UID, container)), nil
}

// startCountLocked is how many starts of a container have been counted.
func (m *machine) startCountLocked(uid types.UID, container string) int {
	if p := m.mu.histories[uid]; p != nil {
		if c := p.findStartCount(container); c != nil {
			return c.starts
		}
	}
	return 0
}

// countStartLocked counts a start.
func (m *machine) countStartLocked(uid types.UID, container string) {
	*m.ensureHistoryLocked(uid).ensureStartCount(container)++
}
