package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// TestScan_CF38_PriorityOfAStaticPod: an unusual pair of class and priority is reported, each text once, and the pod
// runs.
func TestScan_CF38_PriorityOfAStaticPod(t *testing.T) {
	d := newDir(t)
	warnings := func(name, spec string) string {
		d.write(name, "apiVersion: v1\nkind: Pod\nmetadata: {name: "+name+"}\nspec: {containers: [{name: c, image: i}], "+spec+"}\n")
		assert.Contains(t, d.scan(), name+"-n1", "it runs")
		var texts []string
		for _, p := range d.problems {
			assert.ErrorIs(t, p.Err, manifest.ErrPriority)
			texts = append(texts, strings.ReplaceAll(p.String(), d.path, "DIR")+"; "+p.Effect())
		}
		return strings.Join(texts, "\n")
	}
	const class = `DIR/a: unusual priority: the static pod default/a-n1 has the priorityClassName "high" and no priority: a static pod with a class needs its priority too, as system-node-critical needs 2000001000; the pod runs`
	assert.Equal(t, class, warnings("a", "priorityClassName: high"))
	assert.Equal(t, "", warnings("a", "priorityClassName: high, hostNetwork: true"), "the same text is reported once")
	assert.Equal(t, `DIR/a: unusual priority: the static pod default/a-n1 has the priority 5 and no priorityClassName: a static pod with a priority needs its class too, as 2000001000 needs system-node-critical; the pod runs`, warnings("a", "priority: 5"))
	const other = `DIR/a: unusual priority: the static pod default/a-n1 has the priorityClassName %q and the priority %d: expected system-node-critical and 2000001000; the pod runs`
	assert.Equal(t, fmt.Sprintf(other, "system-node-critical", 5), warnings("a", "priorityClassName: system-node-critical, priority: 5"))
	assert.Equal(t, fmt.Sprintf(other, "system-cluster-critical", 2000001000), warnings("a", "priorityClassName: system-cluster-critical, priority: 2000001000"))
	assert.Equal(t, "", warnings("b", "priorityClassName: system-node-critical, priority: 2000001000"))
	assert.Equal(t, "", warnings("b", "hostNetwork: true"))
	assert.Equal(t, "", warnings("a", "priorityClassName: high"), "also after others")
	assert.Zero(t, d.source.Faults().Count, "it is no fault")
}

// TestScan_CF38_ManyTexts: as many warnings are remembered as in the kubelet.
func TestScan_CF38_ManyTexts(t *testing.T) {
	d := newDir(t)
	text := func(first int) string {
		var s strings.Builder
		for i := range 600 {
			fmt.Fprintf(&s, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p%d}\nspec: {priority: 5, containers: [{name: c, image: i}]}\n", first+i)
		}
		return s.String()
	}
	for _, first := range []int{0, 600, 0} {
		d.write("a", text(first))
		d.scan()
		assert.Len(t, d.problems, 600)
	}
}
