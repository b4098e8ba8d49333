package checkpoint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pods has on the disk the pods that a program was given and that no other place has, so that
// the next agent runs them too. Methods may be called concurrently.
type Pods struct{ files store[desired] }

// desired is one pod, as it is in its file.
type desired struct {
	header
	Pod *v1.Pod `json:"pod"`
}

// NewPods makes Pods, and reads what an agent before this one has left. Its directory is
// another one than those of the terminal statuses and the containers. A file that is damaged
// is reported at each start and left in place: as long as it is there, Unread returns an error.
func NewPods(cfg Config) (*Pods, error) {
	p := &Pods{}
	err := p.files.open(cfg, contents[desired]{
		decode:  decodeDesired,
		badRoot: "some of the pods that an agent before this one has kept cannot be read and do not run",
		badFile: "a file that should have a pod cannot be read: the pod does not run",
		// As long as the file is there Unread keeps the node from removing the pod's volumes.
		keepDamaged: true,
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Consume returns the pods that an agent before this one has kept, once, in the order in which
// they were created.
func (p *Pods) Consume() (pods []*v1.Pod) {
	for _, uid := range p.files.pods(always, MaxFiles) {
		if d := p.files.take(uid); d != nil {
			pods = append(pods, d.Pod)
		}
	}
	slices.SortStableFunc(pods, func(a, b *v1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
	})
	return pods
}

// ReadError is nil, or one of the reasons why not everything was read that an agent before this
// one has kept: then there were pods that Consume does not return.
func (p *Pods) ReadError() error { return p.files.unread }

// Save keeps a pod, in place of what was kept of its UID. It returns when the file is on the
// disk, whole and in its place. A pod of more than MaxSize bytes is an error.
func (p *Pods) Save(pod *v1.Pod) error {
	text, err := json.Marshal(&desired{header: headerOf(pod), Pod: pod})
	if err == nil && len(text) > MaxSize {
		err = tooLarge()
	}
	if err == nil {
		err = p.files.save(pod.UID, text)
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// Drop removes the file of a pod, if there is one.
func (p *Pods) Drop(uid types.UID) error { return p.files.remove(uid, always) }

func decodeDesired(name string, text []byte) (types.UID, *desired, error) {
	var d desired
	if err := json.Unmarshal(text, &d); err != nil {
		return "", nil, err
	}
	if err := d.check(name); err != nil {
		return "", nil, err
	}
	if d.Pod == nil || d.Pod.UID != d.UID || d.Pod.Name == "" {
		return "", nil, fmt.Errorf("it has no pod of its UID")
	}
	return d.UID, &d, nil
}
