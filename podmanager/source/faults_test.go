package source_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source"
)

// faulty is a source with faults; the first one concerns a pod.
type faulty struct {
	script
	first []source.Fault
	count int
	pod   types.UID
}

func (f *faulty) Faults() source.Faults {
	if f.count < 0 {
		panic("boo")
	}
	return source.Faults{Count: f.count, First: f.first}
}

func (f *faulty) FaultOf(uid types.UID) (source.Fault, bool) {
	if uid == "bug" {
		panic("boo")
	}
	if uid == f.pod {
		return f.first[0], true
	}
	return source.Fault{}, false
}

// TestFaults: Faults returns the faults of each FaultReporter. A panic of one affects that source
// only.
func TestFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := source.Fault{Path: "/m/a\n.yaml", Reason: "not YAML", Effect: "it stays", Since: time.Unix(0, 0)}
		many := &faulty{first: make([]source.Fault, 200), count: 300}
		var panicked []string
		m := running(t, source.Config{
			Sources: map[string]source.Source{"file": &faulty{first: []source.Fault{bad}, count: 1, pod: "a"}, "http": &faulty{}, "mute": &script{}, "other": many},
			Hooks:   source.Hooks{Panicked: func(call string, _ error) { panicked = append(panicked, call) }},
		})
		all := m.Faults()
		assert.Equal(t, []source.Faults{
			{Source: "file", Count: 1, First: []source.Fault{bad}},
			{Source: "http"},
			{Source: "other", Count: 300, First: many.first[:source.MaxFaults]},
		}, all)
		fault, ok := m.FaultOf("a")
		assert.True(t, ok)
		assert.Equal(t, bad, fault)
		_, ok = m.FaultOf("b")
		assert.False(t, ok)
		_, ok = m.FaultOf("bug")
		assert.False(t, ok)
		assert.Equal(t, []string{"Source.FaultOf", "Source.FaultOf", "Source.FaultOf"}, panicked)

		many.count = -1 // Its faults are unknown, which differs from having none.
		assert.Equal(t, "1 fault in the manifests: other: the source panicked when it was asked for its faults; its faults are not known (since 2000-01-01T00:00:00Z)",
			source.Describe(m.Faults()[2:]))

		one := `/m/a\n.yaml: not YAML; it stays (since 1970-01-01T00:00:00Z)`
		assert.Equal(t, "1 fault in the manifests: "+one, source.Describe(all[:2]))
		assert.Empty(t, source.Describe(all[1:2]))
		for pod, want := range map[string]string{"typo": "/m/typo.yaml", "typo-n": "/m/typo.yaml", "other": "/m/6.yaml", "": "/m/0.yaml", "typ": "/m/0.yaml"} {
			var many source.Faults
			for i := range 8 {
				many.First = append(many.First, source.Fault{Path: fmt.Sprintf("/m/%d.yaml", i), Reason: "bad"})
			}
			many.First[6].Reason, many.Count = "pod other is bad", 9
			many.First = append(many.First, source.Fault{Path: "/m/typo.yaml", Reason: "bad"})
			lines := strings.Split(source.DescribeFor([]source.Faults{many}, pod), "\n")
			assert.Len(t, lines, 7)
			assert.Contains(t, lines[1], "  "+want+": ", pod)
		}
		assert.Equal(t, "1 fault in the manifests", source.Describe([]source.Faults{{Count: 1}}))
		b, c := source.Faults{Count: 9, First: []source.Fault{bad, bad, bad, bad, bad, bad}}, "\n  "+one
		assert.Equal(t, "10 faults in the manifests:"+c+c+c+c+c+"\n  and 5 more", source.Describe(append(all[:1:1], b)))
	})
}
