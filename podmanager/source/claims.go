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

// refusePodsWithForeignUIDs removes from changes the pods whose UID belongs to a pod of another source, and
// stores these pods as refused. late are pods that were refused before and whose UIDs are free now; the caller
// delivers them after all changes. fresh are the newly refused pods. If two sources add a UID at the same time,
// the pod of the API server is used. The caller holds m.taking.
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

// ownersOfUIDs calls the host program's Config.Owner for each UID and returns the names of the pods that the
// node has data of. It leaves out a UID if the call panics. It returns nil if Config.Owner is not set. The
// caller does not hold m.claims.
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

// refusedPods returns the pods of a source that are refused now, because their UID belongs to another pod.
func (m *Mux) refusedPods(source string) (all []merge.Refused) {
	m.claims.Lock()
	all = m.claims.of.Refused()
	m.claims.Unlock()
	return slices.DeleteFunc(all, func(r merge.Refused) bool { return r.Source != source })
}

// faultOfRefused returns the fault that reports a refused pod. The path in the fault is the pod's manifest if
// the source implements PodLocator and finds it. In any other case the path is "pod" with the pod's name.
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
