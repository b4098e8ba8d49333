package source_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source"
)

// located is a script whose pods come from a file.
type located struct{ script }

func (l *located) Locate(types.UID) (string, bool) { return "/m/db.yaml", true }

// refusals are the pods that a Mux has rejected.
type refusals struct{ list []string }

func (r *refusals) hooks() source.Hooks {
	return source.Hooks{Rejected: func(name string, p *v1.Pod, err error) {
		r.list = append(r.list, name+": "+err.Error())
	}}
}

func set(pods ...*v1.Pod) source.Snapshot { return source.Snapshot{Pods: pods} }

const ofAPI = `the UID belongs to another pod: pod default/db-node of source file has the UID "u" of pod default/db of source api, and is not run until that pod is removed`

// TestTake_F97_OneUIDFromTwoSources: the pod that came first stays, whatever the other source does.
// The other pod is reported once as a fault that names both, and is added when the UID is free.
func TestTake_F97_OneUIDFromTwoSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, file, told1 := &script{}, &located{}, &refusals{}
		m := running(t, source.Config{Sources: map[string]source.Source{"api": api, "file": file}, Hooks: told1.hooks()})
		api.sink.Set(set(pod("u", "db", "v1")))
		file.sink.Set(set())
		assert.Equal(t, []string{"api ADD u", "file ADD"}, told(m.TakeAll(nil)))

		file.sink.Set(set(pod("u", "db-node", "v1")))
		assert.Empty(t, told(m.TakeAll(nil)))
		file.sink.Set(set(pod("u", "db-node", "v2"), pod("x", "x", "v1")))
		assert.Equal(t, []string{"file ADD x"}, told(m.TakeAll(nil)), "the other pods of the source run")
		assert.Equal(t, []string{"file: " + ofAPI}, told1.list, "once")
		fault, found := m.FaultOf("u")
		assert.True(t, found)
		assert.Equal(t, []source.Faults{{Source: "file", Count: 1, First: []source.Fault{fault}}}, m.Faults())
		fault.Since = fault.Since.UTC()
		assert.Equal(t, "/m/db.yaml: "+ofAPI, fault.String())
		assert.Equal(t, "this pod does not run", fault.Effect)

		api.sink.Set(set(pod("u", "db", "v2")))
		assert.Equal(t, []string{"api UPDATE u"}, told(m.TakeAll(nil)), "the first one is changed as before")
		api.sink.Set(set())
		updates := m.TakeAll(nil)
		assert.Equal(t, []string{"api REMOVE u", "file ADD u"}, told(updates))
		assert.Equal(t, "db v2", updates[0].Pods[0].Name+" "+updates[0].Pods[0].Spec.Containers[0].Image)
		assert.Equal(t, "db-node v2", updates[1].Pods[0].Name+" "+updates[1].Pods[0].Spec.Containers[0].Image)
		assert.Empty(t, m.Faults())

		api.sink.Set(set(pod("u", "db", "v3")))
		assert.Empty(t, told(m.TakeAll(nil)), "now the file has it")
		assert.Equal(t, "pod default/db: the UID belongs to another pod: pod default/db of source api has the UID \"u\" of pod default/db-node of source file, and is not run until that pod is removed",
			m.Faults()[0].First[0].String())
		api.sink.Set(set())
		file.sink.Set(set())
		assert.Equal(t, []string{"file REMOVE u x"}, told(m.TakeAll(nil)), "what was never delivered is not removed")
		assert.Len(t, told1.list, 2)
	})
}

// TestTake_F97_TwoStaticSources: of two sources that deliver at the same time only one gets the
// UID.
func TestTake_F97_TwoStaticSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file, web := &script{}, &script{}
		m := running(t, source.Config{Sources: map[string]source.Source{"http": web, "file": file}})
		web.sink.Set(set(pod("u", "db-node", "v1")))
		file.sink.Set(set(pod("u", "db-node", "v1")))
		assert.Equal(t, []string{"file ADD u", "http ADD"}, told(m.TakeAll(nil)))
		file.sink.Set(set())
		assert.Equal(t, []string{"file REMOVE u", "http ADD u"}, told(m.TakeAll(nil)))
		file.sink.Set(set(pod("u", "db-node", "v1")))
		assert.Empty(t, told(m.TakeAll(nil)))
		web.sink.Set(set())
		assert.Equal(t, []string{"http REMOVE u", "file ADD u"}, told(m.TakeAll(nil)), "the end comes before the new pod, whatever the sources are called")
	})
}

// TestTake_F97_ARestartChangesNoOwner: a UID with records goes to the pod of these records. While
// its source may only be late, no other pod gets the UID.
func TestTake_F97_ARestartChangesNoOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, file, web := &script{}, &script{}, &script{}
		owner := func(uid types.UID) (types.NamespacedName, bool) {
			return types.NamespacedName{Namespace: "default", Name: map[types.UID]string{"u": "db", "w": "web"}[uid]}, uid != "n"
		}
		m := running(t, source.Config{Sources: map[string]source.Source{"api": api, "file": file, "http": web}, Owner: owner})
		file.sink.Set(set(pod("u", "db-node", "v1"), pod("n", "new", "v1")))
		web.sink.Set(set(pod("w", "renamed", "v1")))
		assert.Equal(t, []string{"file ADD n", "http ADD"}, told(m.TakeAll(nil)))
		assert.Equal(t, `pod default/db-node: the UID belongs to another pod: pod default/db-node of source file has the UID "u" of pod default/db, which this node has records or volumes of, and is not run until every source has delivered its pods`,
			m.Faults()[0].First[0].String())

		s := set(pod("u", "db", "v1"))
		s.Incomplete = true
		api.sink.Set(s)
		assert.Equal(t, []string{"api ADD u"}, told(m.TakeAll(nil)))
		api.sink.Set(set(pod("u", "db", "v1")))
		assert.Equal(t, []string{"http ADD w"}, told(m.TakeAll(nil)), "all have delivered, and no source has the pod of the records")
		assert.Equal(t, "pod default/db-node: "+ofAPI, m.Faults()[0].First[0].String())
	})
}

// TestTake_F97_OwnerMayCallTheMux: the Mux holds no lock while it calls Config.Owner.
func TestTake_F97_OwnerMayCallTheMux(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &script{}
		var m *source.Mux
		asked := 0
		m = running(t, source.Config{Sources: map[string]source.Source{"api": api}, Owner: func(uid types.UID) (types.NamespacedName, bool) {
			asked++
			_, found := m.FaultOf(uid)
			return types.NamespacedName{Namespace: "default", Name: "db"}, !found && len(m.Faults()) == 0
		}})
		api.sink.Set(set(pod("u", "db", "v1")))
		assert.Equal(t, []string{"api ADD u"}, told(m.TakeAll(nil)))
		assert.Equal(t, 1, asked)
	})
}
