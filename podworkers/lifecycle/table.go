// Package lifecycle is the pod state machine as a pure table.
package lifecycle

import "k8s.io/apimachinery/pkg/types"

type (
	stage    uint8
	activity uint8
	latches  uint8
)

// Ref is a record of the table. It stays valid until OpForget and is never
// valid again. The zero Ref is none.
type Ref struct{ slot, version uint32 }

// Index is a small number that no other valid Ref has: the caller may keep its
// own side of the record in a slice.
func (r Ref) Index() int { return int(r.slot) }

// Table holds the pods of a node. It must not be used concurrently.
type Table struct{}

// New returns an empty table.
func New() *Table { return &Table{} }

// Known is a whole picture of desire.
type Known struct {
	// Desired is every pod that the node is told to run, in any order.
	Desired []types.UID
	// Generation is Table.Generation as it was before the picture was taken.
	// Pods updated later are spared.
	Generation uint64
	// Spare lists origins whose pods are left alone, because absence from the
	// picture does not mean that they are unwanted.
	Spare []string
	// AllSources: every source has delivered. From then on, for ever, the
	// answers about unknown pods are the later ones.
	AllSources bool
}

// PodState is what SyncKnown tells of a pod that the table still knows.
type PodState struct {
	UID       types.UID
	Phase     Phase
	Orphan    bool // not desired, and not spared
	HasConfig bool // more is known than what the runtime shows
	Static    bool
}

// Generation is the number of the last accepted content.
func (t *Table) Generation() uint64 { return 0 }

// Len is the number of known pods.
func (t *Table) Len() int { return 0 }

// Origins lists every origin seen so far, for Known.Spare.
func (t *Table) Origins() []string { return nil }

// Find returns the record of a pod.
func (t *Table) Find(uid types.UID) (Ref, bool) { return Ref{}, false }

// Update takes in what is wanted of a pod now.
func (t *Table) Update(u Update, out *Effects) (Accepted, error) { return Accepted{}, nil }

// Kill is Update with type SyncPodKill and a ticket.
func (t *Table) Kill(u Update, out *Effects) (Accepted, error) { return Accepted{}, nil }

// Due tells that the pod's entry in the queue has come up.
func (t *Table) Due(uid types.UID, out *Effects) {}

// Take hands out the work of a woken pod.
func (t *Table) Take(ref Ref, out *Effects) (Work, bool) { return Work{}, false }

// Done takes the result of that work.
func (t *Table) Done(ref Ref, incarnation uint64, result Result, out *Effects) bool { return false }

// SyncKnown compares the table with the picture.
func (t *Table) SyncKnown(known Known, states []PodState, out *Effects) []PodState { return states }

// Shutdown resolves every open ticket; nothing is accepted or handed out after it.
func (t *Table) Shutdown(out *Effects) {}

// View answers about one pod.
func (t *Table) View(uid types.UID) View { return View{} }

// Owner is the view of the started static pod that holds a full name.
func (t *Table) Owner(fullName string) View { return View{} }

// CheckInvariants is for tests.
func (t *Table) CheckInvariants() error { return nil }
