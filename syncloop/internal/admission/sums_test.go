package admission_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/syncloop/internal/admission"
)

// item draws what a pod takes; few values, so that pods share them.
func item(t *rapid.T, uid types.UID) admission.Item {
	i := admission.Item{UID: uid, Namespace: "ns", Name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name")}
	i.Pod, i.Requests = &v1.Pod{}, v1.ResourceList{}
	for _, name := range []v1.ResourceName{"cpu", "memory", "example.com/gpu"} {
		if text := rapid.SampledFrom([]string{"", "0", "1m", "100m", "1", "1.5", "3k", "1Gi", "9Ei"}).Draw(t, string(name)); text != "" {
			i.Requests[name] = resource.MustParse(text)
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "ports") {
		i.Ports = append(i.Ports, podspec.HostPort{
			IP:       rapid.SampledFrom([]string{"0.0.0.0", "10.0.0.1", "10.0.0.2"}).Draw(t, "ip"),
			Protocol: rapid.SampledFrom([]v1.Protocol{"TCP", "UDP"}).Draw(t, "protocol"), Port: int32(rapid.IntRange(80, 81).Draw(t, "port")),
		})
	}
	return i
}

// TestSums_EqualTheFullRecomputation: after any history of pods that come, change
// and go, every answer is that of a sum over all pods that are there.
func TestSums_EqualTheFullRecomputation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sums admission.Sums
		var there []admission.Item // in order of arrival
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			uid := types.UID(fmt.Sprint("u", rapid.IntRange(0, 5).Draw(t, "uid")))
			at := -1
			for i := range there {
				if there[i].UID == uid {
					at = i
				}
			}
			if rapid.Bool().Draw(t, "comes") {
				one := item(t, uid)
				sums.Put(one)
				if at >= 0 {
					there[at] = one
				} else {
					there = append(there, one)
				}
			} else {
				_, found := sums.Remove(uid)
				if found != (at >= 0) {
					t.Fatalf("Remove(%s) is %t", uid, found)
				}
				if at >= 0 {
					there = append(there[:at:at], there[at+1:]...)
				}
			}
			compare(t, &sums, there)
		}
	})
}

func compare(t *rapid.T, sums *admission.Sums, there []admission.Item) {
	var pods []*v1.Pod
	for i := range there {
		pods = append(pods, there[i].Pod)
	}
	if !slices.Equal(sums.Pods(), pods) {
		t.Fatalf("the pods are others, or in another order")
	}
	if sums.Len() != len(there) {
		t.Fatalf("%d items, not %d", sums.Len(), len(there))
	}
	for _, name := range []v1.ResourceName{"cpu", "memory", "example.com/gpu"} {
		var want resource.Quantity
		for i := range there {
			want.Add(there[i].Requests[name])
		}
		if got := sums.Requested(name); got.Cmp(want) != 0 {
			t.Fatalf("%s: %s, not %s", name, got.String(), want.String())
		}
	}
	for _, name := range []string{"a", "b"} {
		var want []admission.Item
		for i := range there {
			if there[i].Name == name {
				want = append(want, there[i])
			}
		}
		if got := sums.Named("ns", name); !reflect.DeepEqual(got, want) {
			t.Fatalf("named %s: %v, not %v", name, got, want)
		}
	}
	for _, ip := range []string{"0.0.0.0", "10.0.0.1", "10.0.0.2"} {
		for _, protocol := range []v1.Protocol{"TCP", "UDP"} {
			port := podspec.HostPort{IP: ip, Protocol: protocol, Port: 80}
			got, _ := sums.Holder(port)
			if want := holder(there, port); got.UID != want {
				t.Fatalf("%s: %q, not %q", port, got.UID, want)
			}
		}
	}
}

func holder(there []admission.Item, port podspec.HostPort) types.UID {
	for i := range there {
		for _, held := range there[i].Ports {
			if held.Conflicts(port) {
				return there[i].UID
			}
		}
	}
	return ""
}
