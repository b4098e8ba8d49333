package allocation_test

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/allocation"
)

// licences is a rule of a host program: the node has three licences, and each pod uses as many as its
// annotation says.
type licences struct{}

func (licences) Claims(pod *v1.Pod) allocation.Claims {
	n, err := resource.ParseQuantity(pod.Annotations["licences"])
	if err != nil {
		return allocation.Claims{}
	}
	return allocation.Claims{Quantities: v1.ResourceList{"licences": n}}
}

func (licences) Check(claims allocation.Claims, staying, ending allocation.Sums) []allocation.Reason {
	want, all := claims.Quantities["licences"], resource.MustParse("3")
	used := staying.Requested("licences")
	used.Add(ending.Requested("licences"))
	sum := used.DeepCopy()
	if sum.Add(want); sum.Cmp(all) <= 0 {
		return nil
	}
	return []allocation.Reason{{
		Kind: allocation.KindHandler, Reason: "OutOfLicences", Message: fmt.Sprintf("%s of %s licences are in use", used.String(), all.String()),
		Resource: "licences", Requested: want, Used: used, Capacity: all,
	}}
}

func podWithLicences(uid types.UID, licences string) *v1.Pod {
	p := &v1.Pod{}
	p.UID, p.Name, p.Annotations = uid, string(uid), map[string]string{"licences": licences}
	return p
}

// A rule and a handler decide about two pods, and the second one waits until the node has room.
func ExampleNew() {
	chain := allocation.NewChain(licences{}, nil)
	table := allocation.New(allocation.Config{Chain: chain, WaitWhenFull: true})
	now := time.Unix(0, 0)
	run := func(effects []allocation.Effect) {
		for len(effects) > 0 {
			e := effects[0]
			effects = effects[1:]
			fmt.Printf("%s: %s\n", e.UID, strings.TrimSpace(e.Kind.String()+" "+e.Answer.Message))
			if e.Kind == allocation.Ask { // The handler admits every pod.
				effects = table.Answer(e.ID, e.Revision, allocation.Answer{Admit: true}, now, effects)
			}
		}
	}
	run(table.Add(chain.Pod(podWithLicences("a", "2"), "file", false), true, now, nil))
	run(table.Add(chain.Pod(podWithLicences("b", "2"), "file", false), true, now, nil))
	table.Remove("a")
	run(table.Review(now, nil))
	// Output:
	// a: ask
	// a: admit
	// b: ask
	// b: wait 2 of 3 licences are in use
	// b: ask
	// b: admit
}

// A chain returns the claims of a pod, and the reasons why the pod cannot start beside others.
func ExampleNewChain() {
	chain := allocation.NewChain(allocation.PodCount(1))
	one := chain.Pod(podWithLicences("b", ""), "file", false)
	for _, reason := range chain.Check(0, &one, chain.NewSnapshot(chain.Pod(podWithLicences("a", ""), "file", false))) {
		fmt.Println(reason)
	}
	// Output:
	// OutOfpods: the node runs 1 pods and takes at most 1
}

// A Usage answers whether a pod would be admitted, without the table.
func ExampleNewUsage() {
	chain := allocation.NewChain(allocation.PodCount(1))
	table, usage := allocation.New(allocation.Config{Chain: chain}), allocation.NewUsage(chain)
	table.Add(chain.Pod(podWithLicences("a", ""), "file", false), true, time.Unix(0, 0), nil)
	usage.Update(table, usage.LastWorkerChange())
	one := chain.Pod(podWithLicences("b", ""), "file", false)
	verdict, _, _ := allocation.Judge(&one, usage.SnapshotFor(&one, 0, false), false,
		func(_ allocation.Question, beside allocation.Snapshot) allocation.Answer {
			return allocation.NewAnswer(chain.Check(0, &one, beside)...)
		})
	fmt.Println(verdict)
	// Output:
	// rejected
}
