package volumes_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/volumes"
)

// A downwardAPI volume on disk.
func ExampleNew() {
	root, _ := os.MkdirTemp("", "volumes")
	defer os.RemoveAll(root)
	dir, err := volumes.New(volumes.Config{Root: root})
	if err != nil {
		panic(err)
	}
	pod := &v1.Pod{}
	pod.Name, pod.UID = "web", "u"
	pod.Spec.Volumes = []v1.Volume{{Name: "me", VolumeSource: v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{
		Items: []v1.DownwardAPIVolumeFile{{Path: "name", FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
	}}}}
	fmt.Println(dir.SetUp(context.Background(), pod))
	text, _ := os.ReadFile(filepath.Join(root, "pods/u/volumes/me/name"))
	fmt.Println(string(text))
	fmt.Println(dir.TearDown(context.Background(), "u"))
	// Output:
	// <nil>
	// web
	// <nil>
}
