package podmanager_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager"
)

// A static pod from a file, and its mirror pod of an API server.
func ExampleNew() {
	pods := podmanager.New()
	static := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		UID: "uid-of-the-file", Name: "dns-node1", Namespace: "default",
		Annotations: map[string]string{podmanager.ConfigSourceAnnotation: podmanager.FileSource},
	}}
	mirror := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		UID: "uid-in-the-api", Name: "dns-node1", Namespace: "default",
		Annotations: map[string]string{podmanager.ConfigSourceAnnotation: "api", podmanager.ConfigMirrorAnnotation: "h"},
	}}
	pods.AddPod(mirror)
	pods.AddPod(static)

	fmt.Println(pods.TranslatePodUID("uid-in-the-api"))
	_, found := pods.GetPodByUID("uid-in-the-api")
	fmt.Println("a mirror is a pod:", found)
	// Output:
	// uid-of-the-file
	// a mirror is a pod: false
}
