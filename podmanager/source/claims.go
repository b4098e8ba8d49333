package source

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source/internal/merge"
)

// ErrForeignUID is the fault of a pod whose UID belongs to a pod of another source. Hooks.Rejected
// gets it.
var ErrForeignUID = merge.ErrForeignUID

// PodLocator is a Source that can name the file or URL of a pod. Mux.Faults shows that path.
type PodLocator interface {
	// Locate returns the file or the URL of the pod with this UID. It is called at any time,
	// concurrently with Run, and must not block.
	Locate(uid types.UID) (path string, found bool)
}

// refusePodsWithForeignUIDs removes those pods from changes whose UID belongs to a pod of another source. It
// returns refused pods whose UID is free now, which are delivered after all changes, and the pods that are
// newly refused. The caller holds m.taking.
func (m *Mux) refusePodsWithForeignUIDs(changes []merge.SourceChanges) (late []merge.SourceChanges, fresh []merge.Refused) {
	complete := m.AllSeen() && !slices.ContainsFunc(m.inboxes, func(in *inbox) bool { return !in.isComplete() })
	m.claims.Lock()
	uids := m.claims.of.UIDs(changes)
	m.claims.Unlock()
	owners := m.ownersOfUIDs(uids)
	m.claims.Lock()
	defer m.claims.Unlock()
	// An API server makes the UIDs of its pods, so a static pod with such a UID is a copy.
	ranked := make([]merge.SourceChanges, 0, len(changes))
	for _, api := range [...]bool{true, false} {
		for _, c := range changes {
			if (c.Source == podmanager.ApiserverSource) == api {
				ranked = append(ranked, c)
			}
		}
	}
	late, fresh = m.claims.of.Filter(ranked, owners, complete, m.cfg.Clock.Now())
	for _, c := range ranked {
		i := slices.IndexFunc(changes, func(o merge.SourceChanges) bool { return o.Source == c.Source })
		changes[i] = c
	}
	return late, fresh
}

// ownersOfUIDs calls the host program's Owner for each UID, and returns the pods that the node has data of. It
// leaves out a UID whose call panics. The caller does not hold m.claims.
func (m *Mux) ownersOfUIDs(uids []types.UID) merge.Owners {
	if m.cfg.Owner == nil {
		return nil
	}
	all := make(merge.Owners)
	for _, uid := range uids {
		_ = m.guard.Call("Owner", func() { // The guard reports the panic.
			if owner, known := m.cfg.Owner(uid); known {
				all[uid] = owner
			}
		})
	}
	return all
}

// refusedPods returns the pods of a source that are refused now, because their UID belongs to a pod of another
// source.
func (m *Mux) refusedPods(source string) (all []merge.Refused) {
	m.claims.Lock()
	all = m.claims.of.Refused()
	m.claims.Unlock()
	return slices.DeleteFunc(all, func(r merge.Refused) bool { return r.Source != source })
}

// faultOfRefused returns the fault that is reported for a refused pod. Its path is the manifest of the pod if
// the source can locate it, and the pod's name otherwise.
func (m *Mux) faultOfRefused(in *inbox, r merge.Refused) Fault {
	f := Fault{Path: "pod " + r.Pod.Namespace + "/" + r.Pod.Name, Reason: r.Err.Error(), Effect: "this pod does not run", Since: r.Since}
	if l, ok := in.src.(PodLocator); ok {
		path := contain.CallOrDefault(m.guard, "Source.Locate", "", func() string {
			path, _ := l.Locate(r.Pod.UID)
			return path
		})
		if path != "" {
			f.Path = path
		}
	}
	return f
}
