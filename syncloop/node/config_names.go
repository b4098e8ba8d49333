package node

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podkeel/podkeel/internal/contain"
)

// checkNames adds faults for node names, labels, taints and resource names that no API server would
// accept. Pods could not select or name them.
func (c *Config) checkNames(done *contain.ConfigCheck) {
	if c.Name != "" {
		addFault(done, "Name", c.Name, validation.IsDNS1123Subdomain(strings.ToLower(c.Name)))
	}
	for _, key := range slices.Sorted(maps.Keys(c.Scheduling.Labels)) {
		addFault(done, "Scheduling.Labels: the key", key, validation.IsQualifiedName(key))
		addFault(done, "Scheduling.Labels: the value of "+key, c.Scheduling.Labels[key], validation.IsValidLabelValue(c.Scheduling.Labels[key]))
	}
	type id struct {
		key    string
		effect v1.TaintEffect
	}
	seen := map[id]bool{}
	for i, t := range c.Scheduling.Taints {
		at := fmt.Sprintf("Scheduling.Taints[%d]", i)
		addFault(done, at+": the key", t.Key, validation.IsQualifiedName(t.Key))
		addFault(done, at+": the value", t.Value, validation.IsValidLabelValue(t.Value))
		switch t.Effect {
		case v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute:
		default:
			done.FaultIf(true, fmt.Sprintf("%s: the effect %q is none of NoSchedule, PreferNoSchedule and NoExecute", at, t.Effect))
		}
		done.FaultIf(seen[id{t.Key, t.Effect}], fmt.Sprintf("%s: an earlier taint has the key %q and the effect %q", at, t.Key, t.Effect))
		seen[id{t.Key, t.Effect}] = true
	}
	for _, list := range []struct {
		name string
		of   v1.ResourceList
	}{{"Scheduling.Capacity", c.Scheduling.Capacity}, {"Scheduling.Reserved", c.Scheduling.Reserved}} {
		for _, name := range slices.Sorted(maps.Keys(list.of)) {
			addFault(done, list.name+": the name", string(name), validation.IsQualifiedName(string(name)))
		}
	}
}

// addFault adds a fault with the first complaint about a text, if there are complaints.
func addFault(done *contain.ConfigCheck, what, text string, complaints []string) {
	if len(complaints) > 0 {
		done.FaultIf(true, fmt.Sprintf("%s %.80q: %s", what, text, complaints[0]))
	}
}
