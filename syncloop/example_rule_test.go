package syncloop_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/allocation"
)

// seats is a rule of a host program: the node has two seats, and each pod takes one.
type seats struct{}

func (seats) Claims(*v1.Pod) allocation.Claims {
	return allocation.Claims{Quantities: v1.ResourceList{"seats": resource.MustParse("1")}}
}

func (seats) Check(_ allocation.Claims, staying, ending allocation.Sums) []allocation.Reason {
	taken := staying.Requested("seats")
	if taken.Add(ending.Requested("seats")); taken.Value() < 2 {
		return nil
	}
	return []allocation.Reason{{Kind: allocation.KindHandler, Reason: "NoSeat", Message: "all seats are taken"}}
}

// A rule of the host program decides by sums. The handlers update the sums.
func ExampleAdmitRule() {
	handler := syncloop.AdmitRule(seats{}) // For HandlersConfig.Admit, or node.Config.Scheduling.Admit.
	others := []*v1.Pod{{}, {}}
	result := handler.Admit(syncloop.PodAdmitAttributes{Pod: &v1.Pod{}, OtherPods: others})
	fmt.Println(result.Admit, result.Reason, result.Message)
	// Output: false NoSeat all seats are taken
}
