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

// checkNamesAndTaints adds a fault for each node name, label, taint key or value, and resource name that no API
// server would accept. It also adds a fault for an unknown taint effect, and for two taints with the same key
// and effect.
func (c *Config) checkNamesAndTaints(done *contain.ConfigCheck) {
	if c.Name != "" {
		addFirstFault(done, "Name", c.Name, validation.IsDNS1123Subdomain(strings.ToLower(c.Name)))
	}
	for _, key := range slices.Sorted(maps.Keys(c.Scheduling.Labels)) {
		addFirstFault(done, "Scheduling.Labels: the key", key, validation.IsQualifiedName(key))
		addFirstFault(done, "Scheduling.Labels: the value of "+key, c.Scheduling.Labels[key], validation.IsValidLabelValue(c.Scheduling.Labels[key]))
	}
	type id struct {
		key    string
		effect v1.TaintEffect
	}
	seen := map[id]bool{}
	for i, t := range c.Scheduling.Taints {
		at := fmt.Sprintf("Scheduling.Taints[%d]", i)
		addFirstFault(done, at+": the key", t.Key, validation.IsQualifiedName(t.Key))
		addFirstFault(done, at+": the value", t.Value, validation.IsValidLabelValue(t.Value))
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
			addFirstFault(done, list.name+": the name", string(name), validation.IsQualifiedName(string(name)))
		}
	}
}

// addFirstFault adds a fault with the first complaint about the text of a field. It does nothing if there are
// no complaints.
func addFirstFault(done *contain.ConfigCheck, fieldPath, text string, complaints []string) {
	if len(complaints) > 0 {
		done.FaultIf(true, fmt.Sprintf("%s %.80q: %s", fieldPath, text, complaints[0]))
	}
}
