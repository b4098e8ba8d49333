package inmemory_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/volumes/inmemory"
)

// The mounts of a pod on a runtime without a disk.
func ExampleNew() {
	volumes := inmemory.New(inmemory.Config{})
	pod := &v1.Pod{Spec: v1.PodSpec{
		Volumes: []v1.Volume{
			{Name: "scratch", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
			{Name: "data", VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "disks.example"}}},
		},
		Containers: []v1.Container{{Name: "c", VolumeMounts: []v1.VolumeMount{{Name: "scratch", MountPath: "/tmp", SubPath: "c"}}}},
	}}
	pod.UID = "u"
	for _, problem := range volumes.Problems(pod) {
		fmt.Println(problem)
	}
	mounts, err := volumes.Mounts(context.Background(), pod, &pod.Spec.Containers[0], nil)
	fmt.Println(mounts[0].HostPath, "at", mounts[0].ContainerPath, err)
	// Output:
	// spec.volumes[1]: volume "data" is of the kind csi, which is not supported
	// /inmemory/pods/u/volumes/scratch/c at /tmp <nil>
}
