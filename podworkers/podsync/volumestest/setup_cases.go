package volumestest

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	v1 "k8s.io/api/core/v1"
)

var setUpCases = []Case{
	{Name: "setup/none", Promise: "SetUp of a pod without volumes is no error.", run: func(b *caseEnv) { b.mustSetUp(b.newPod("none")) }},
	{Name: "setup/again", Promise: "SetUp may be repeated: the volumes stay where they are.", run: func(b *caseEnv) {
		p := b.newPod("one", "data")
		b.mustSetUp(p)
		first := b.volumePath(p)
		b.mustSetUp(p)
		if again := b.volumePath(p); again != first {
			b.Failf("the volume was at %s and is at %s", first, again)
		}
	}},
	{Name: "setup/keeps", Promise: "SetUp leaves what a container has written into an emptyDir.", needsDisk: true, run: func(b *caseEnv) {
		p := b.newPod("one", "data")
		b.mustSetUp(p)
		b.writeFile(p)
		b.mustSetUp(p)
		if !b.hasFile(p) {
			b.Failf("the file is gone")
		}
	}},
	{Name: "setup/absent-object", Promise: "SetUp fails for a configMap volume whose ConfigMap does not exist, unless it is optional.", run: func(b *caseEnv) {
		for _, optional := range []bool{false, true} {
			p := b.newPod(fmt.Sprint("optional-", optional))
			p.Spec.Volumes = []v1.Volume{{Name: "map", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{
				LocalObjectReference: v1.LocalObjectReference{Name: "volumestest-absent"}, Optional: &optional,
			}}}}
			if len(b.Volumes.Problems(p)) > 0 {
				b.Skipf("configMap volumes are refused")
				return
			}
			if err := b.Volumes.SetUp(b.Context(), p); (err == nil) != optional {
				b.Failf("SetUp, optional=%t: %v", optional, err)
			}
		}
	}},
	{Name: "setup/concurrent", Promise: "Pods are set up, mounted and torn down at the same time.", run: (*caseEnv).runConcurrentPods},
}

// runConcurrentPods sets up, mounts and tears down the volumes of 20 pods at the same time, and fails the case
// at an error.
func (b *caseEnv) runConcurrentPods() {
	pods := make([]*v1.Pod, 20)
	for i := range pods {
		pods[i] = b.newPod(fmt.Sprint("pod-", i), "data")
	}
	errs := make([]error, len(pods))
	var wg sync.WaitGroup
	for i, p := range pods {
		wg.Go(func() { errs[i] = b.setUpMountAndTearDownPod(p) })
	}
	wg.Wait()
	for i := range errs {
		b.Must(errs[i], pods[i].Name)
	}
}

// setUpMountAndTearDownPod calls SetUp, Mounts and TearDown for a pod, and returns the first error.
func (b *caseEnv) setUpMountAndTearDownPod(p *v1.Pod) error {
	if err := b.Volumes.SetUp(b.Context(), p); err != nil {
		return err
	}
	if _, err := b.Volumes.Mounts(b.Context(), p, &p.Spec.Containers[0], expandNothing); err != nil {
		return err
	}
	return b.Volumes.TearDown(b.Context(), p.UID)
}

// writeFile writes the file "file" into the first volume of a pod. It fails the case at an error.
func (b *caseEnv) writeFile(p *v1.Pod) {
	b.Helper()
	b.Must(os.WriteFile(filepath.Join(b.volumePath(p), "file"), []byte("text"), 0o600), "writing into the volume")
}

// hasFile reports whether the first volume of a pod has the file that writeFile writes.
func (b *caseEnv) hasFile(p *v1.Pod) bool {
	b.Helper()
	_, err := os.Stat(filepath.Join(b.volumePath(p), "file"))
	return err == nil
}
