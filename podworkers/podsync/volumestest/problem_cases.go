package volumestest

import (
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
)

var problemCases = []Case{
	{Name: "problems/none", Promise: "A pod without volumes, and one with an emptyDir that it mounts, have no problems.", run: func(b *caseEnv) {
		for _, p := range []*v1.Pod{b.newPod("none"), b.newPod("one", "data")} {
			if found := b.Volumes.Problems(p); len(found) > 0 {
				b.Failf("Problems of pod %s: %v", p.Name, found)
			}
		}
	}},
	{Name: "problems/no-such-volume", Promise: "A mount of a volume that the pod does not have is a problem of a field of the spec, with a reason for people.", run: func(b *caseEnv) {
		p := b.newPod("one", "data")
		p.Spec.Containers[0].VolumeMounts[0].Name = "other"
		found := b.Volumes.Problems(p)
		if len(found) == 0 {
			b.Failf("Problems found none")
		}
		for _, problem := range found {
			if !strings.HasPrefix(problem.Field, "spec.") || problem.Why == "" {
				b.Failf("Problems: %+v", problem)
			}
		}
	}},
	{Name: "problems/pure", Promise: "Problems changes nothing of the pod, and says the same of the same pod, before and after SetUp.", run: func(b *caseEnv) {
		p := b.newPod("one", "data")
		p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: "other", MountPath: "/other"})
		before := p.DeepCopy()
		first := b.Volumes.Problems(p)
		b.checkUnchanged("Problems", before, p)
		b.mustSetUp(b.newPod("one", "data"))
		if again := b.Volumes.Problems(p); !reflect.DeepEqual(first, again) {
			b.Failf("Problems: %v, and then %v", first, again)
		}
	}},
}
