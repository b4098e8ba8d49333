package objects_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/internal/objects"
)

// A claim is found at the path of its volume.
func ExampleNewClaims() {
	ctx, server := context.Background(), apiservertest.New(apiservertest.Config{})
	claim, err := server.Admin().Create(ctx, &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"},
		Spec:       v1.PersistentVolumeClaimSpec{VolumeName: "disk-1"},
		Status:     v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = server.Admin().Create(ctx, &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "disk-1"},
		Spec: v1.PersistentVolumeSpec{
			ClaimRef:               &v1.ObjectReference{Namespace: "default", Name: "data", UID: claim.GetUID()},
			PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/mnt/disk-1"}},
		},
	})
	if err != nil {
		fmt.Println(err)
	}
	pod, err := server.Admin().CreatePod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"},
		Spec: v1.PodSpec{NodeName: "node-1", Containers: []v1.Container{{Name: "c", Image: "db:1"}}, Volumes: []v1.Volume{{
			Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}},
		}}},
	})
	if err != nil {
		fmt.Println(err)
	}
	source, err := objects.NewClaims(objects.ClaimsConfig{Server: server.Client("node-1"), NodeName: "node-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	volume, readOnly, err := source.Source(ctx, pod, &pod.Spec.Volumes[0])
	fmt.Println(volume.Local.Path, readOnly, err)
	// Output: /mnt/disk-1 false <nil>
}
