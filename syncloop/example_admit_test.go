package syncloop_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
)

// candidatePod returns a pod of a source.
func candidatePod(name, source string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "ns", Annotations: map[string]string{podmanager.ConfigSourceAnnotation: source},
	}}
}

func ExampleAdmitResources() {
	handler := syncloop.AdmitResources(v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("8Gi")})
	requesting := func(name, cpu string) *v1.Pod {
		pod := candidatePod(name, "api")
		requests := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
		pod.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: requests}}}
		return pod
	}
	refused := handler.Admit(syncloop.PodAdmitAttributes{Pod: requesting("new", "2"), OtherPods: []*v1.Pod{requesting("old", "2500m")}})
	fmt.Println(refused.Reason, "-", refused.Message)
	// Output: OutOfcpu - the node has not enough cpu: requested 2, used 2500m, capacity 4
}

func ExampleAdmitNodeAffinity() {
	pod := candidatePod("web", "api")
	pod.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	refused := syncloop.AdmitNodeAffinity("n1", map[string]string{"disk": "hdd"}).Admit(syncloop.PodAdmitAttributes{Pod: pod})
	fmt.Println(refused.Reason, "-", refused.Message)
	// Output: NodeAffinity - spec.nodeSelector wants disk=ssd, and the node has disk=hdd
}

func ExampleAdmitOS() {
	pod := candidatePod("web", "api")
	pod.Spec.OS = &v1.PodOS{Name: v1.Windows}
	refused := syncloop.AdmitOS("linux").Admit(syncloop.PodAdmitAttributes{Pod: pod})
	fmt.Println(refused.Reason, "-", refused.Message)
	// Output: PodOSNotSupported - the pod's spec.os is "windows", and the node's operating system is linux
}

func ExampleAdmitTaints() {
	handler := syncloop.AdmitTaints([]v1.Taint{{Key: "maintenance", Effect: v1.TaintEffectNoExecute}})
	refused := handler.Admit(syncloop.PodAdmitAttributes{Pod: candidatePod("web", "api")})
	fmt.Println(refused.Reason, "-", refused.Message)
	// Output: TaintToleration - the pod does not tolerate the node's taint maintenance:NoExecute
}

func ExampleAdmitGates() {
	pod := candidatePod("web", "api")
	pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "quota"}}
	refused := syncloop.AdmitGates().Admit(syncloop.PodAdmitAttributes{Pod: pod})
	fmt.Println(refused.Reason, "-", refused.Message)
	// Output: SchedulingGated - the pod must not be started before its scheduling gates are removed: quota
}

func ExampleAdmitNodeName() {
	pod := candidatePod("web", "api")
	pod.Spec.NodeName = "edge-2"
	refused := syncloop.AdmitNodeName("edge-1").Admit(syncloop.PodAdmitAttributes{Pod: pod})
	fmt.Println(refused.Reason, "-", refused.Message)
	// Output: NodeName - spec.nodeName is "edge-2", and this node is "edge-1"
}

func ExampleAdmitPodCount() {
	two := syncloop.AdmitPodCount(2)
	running := []*v1.Pod{candidatePod("web", "api"), candidatePod("db", "api")}
	fmt.Println(two.Admit(syncloop.PodAdmitAttributes{Pod: candidatePod("job", "api"), OtherPods: running[:1]}).Admit)
	refused := two.Admit(syncloop.PodAdmitAttributes{Pod: candidatePod("job", "api"), OtherPods: running})
	fmt.Println(refused.Reason, "-", refused.Message)
	// Output:
	// true
	// OutOfpods - the node runs 2 pods and takes at most 2
}

func ExampleAdmitHostPorts() {
	web := candidatePod("web", "api")
	web.Spec.Containers = []v1.Container{{Ports: []v1.ContainerPort{{HostPort: 8080}}}}
	proxy := candidatePod("proxy", "file")
	proxy.Spec.Containers = []v1.Container{{Ports: []v1.ContainerPort{{HostPort: 8080, HostIP: "127.0.0.1"}}}}
	refused := syncloop.AdmitHostPorts().Admit(syncloop.PodAdmitAttributes{Pod: proxy, OtherPods: []*v1.Pod{web}})
	fmt.Println(refused.Reason, "-", refused.Message)
	// Output: NodePorts - host port 127.0.0.1:8080/TCP is taken by pod ns/web
}

func ExampleAdmitNames() {
	refused := syncloop.AdmitNames().Admit(syncloop.PodAdmitAttributes{
		Pod: candidatePod("web", "file"), OtherPods: []*v1.Pod{candidatePod("web", "api")},
	})
	fmt.Println(refused.Reason, "-", refused.Message)
	// Output: NameConflict - the name ns/web is taken by a pod of source "api"
}

func ExampleAdmitSysctls() {
	handler, err := syncloop.AdmitSysctls([]string{"net.core.*"})
	if err != nil {
		panic(err)
	}
	pod := candidatePod("web", "api")
	pod.Spec.SecurityContext = &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: "net.core.somaxconn", Value: "1024"}, {Name: "kernel.msgmax", Value: "65536"}}}
	refused := handler.Admit(syncloop.PodAdmitAttributes{Pod: pod})
	fmt.Println(refused.Reason, "-", refused.Message)
	// Output: SysctlForbidden - forbidden sysctl: "kernel.msgmax" not allowlisted
}

func ExampleAdmitAppArmor() {
	pod := candidatePod("web", "api")
	pod.Spec.SecurityContext = &v1.PodSecurityContext{AppArmorProfile: &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeRuntimeDefault}}
	refused := syncloop.AdmitAppArmor(false).Admit(syncloop.PodAdmitAttributes{Pod: pod})
	fmt.Println(refused.Reason, "-", refused.Message)
	// Output: AppArmor - Cannot enforce AppArmor: AppArmor is not enabled on the host
}

func ExampleAdmitSupplementalGroupsPolicy() {
	pod := candidatePod("web", "api")
	pod.Spec.SecurityContext = &v1.PodSecurityContext{SupplementalGroupsPolicy: new(v1.SupplementalGroupsPolicyStrict)}
	support := func() runtime.Support { return runtime.SupportNone } // Runtime.Features().StrictGroups of a real runtime.
	refused := syncloop.AdmitSupplementalGroupsPolicy(support).Admit(syncloop.PodAdmitAttributes{Pod: pod})
	fmt.Println(refused.Reason, "-", refused.Message)
	// Output: SupplementalGroupsPolicyNotSupported - SupplementalGroupsPolicy=Strict is not supported in this node
}
