package memory

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// Selector selects containers. An empty field matches all.
type Selector struct {
	UID       types.UID
	Namespace string
	Name      string // of the pod
	Container string
}

// scriptRule is one call of SetScript.
type scriptRule struct {
	selector Selector
	script   Script
}

// SetScript sets the script of all matching containers, present and future, for later starts. If
// several selectors match, the newest call wins. A call with the same selector replaces the earlier
// one, and a script without runs removes it. SetScript takes precedence over annotations, and
// annotations over the command.
func (r *Runtime) SetScript(selector Selector, script Script) {
	m := r.m
	m.lockAndPublish()
	defer m.unlockAndSignal()
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

// ScriptSelectors returns the selectors of all scripts of SetScript, in the order of the calls.
func (r *Runtime) ScriptSelectors() []Selector {
	m := r.m
	m.lockAndPublish()
	defer m.unlockAndSignal()
	all := make([]Selector, len(m.mu.scriptRules))
	for i, a := range m.mu.scriptRules {
		all[i] = a.selector
	}
	return all
}

// Matches reports whether the selector matches a container of a pod.
func (f Selector) Matches(ref runtime.PodRef, container string) bool {
	return (f.UID == "" || f.UID == ref.UID) &&
		(f.Namespace == "" || f.Namespace == ref.Namespace) &&
		(f.Name == "" || f.Name == ref.Name) &&
		(f.Container == "" || f.Container == container)
}

// findScriptLocked returns the script of a container. It uses the newest matching SetScript call. Without one
// it uses the first annotation map that has a script. It returns false if there is none, and an error if the
// script in the annotation is faulty.
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

// nextScriptedRunLocked returns the Run that the script defines for the next start of a container. Without a
// script it returns the zero Run, which injects no failure.
func (m *machine) nextScriptedRunLocked(ref runtime.PodRef, container string, annotations ...map[string]string) (Run, error) {
	script, ok, err := m.findScriptLocked(ref, container, annotations...)
	if err != nil || !ok {
		return Run{}, err
	}
	return script.runForStart(m.startCountLocked(ref.UID, container)), nil
}

// startCountLocked returns how many starts of a container have been counted.
func (m *machine) startCountLocked(uid types.UID, container string) int {
	if p := m.mu.histories[uid]; p != nil {
		if c := p.findStartCount(container); c != nil {
			return c.starts
		}
	}
	return 0
}

// countStartLocked increments the number of starts of a container.
func (m *machine) countStartLocked(uid types.UID, container string) {
	*m.ensureHistoryAndPruneOldLocked(uid).ensureStartCount(container)++
}
