package validation_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/validation"
)

// A pod that was made in Go is completed and checked in five lines.
func Example() {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{
		RestartPolicy: "Sometimes",
		Containers:    []v1.Container{{Name: "C", Image: "nginx"}},
	}}

	validation.Default(pod)
	errs := validation.Validate(pod)
	for _, err := range errs {
		fmt.Println(err)
	}
	// Output:
	// spec.restartPolicy: Unsupported value: "Sometimes": expected one of Always, OnFailure, Never
	// spec.containers[0].name: Invalid value: "C": expected at most 63 lower case letters, digits and '-', with a letter or digit at both ends
}

func ExampleDefault() {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{
		Image:     "nginx",
		Resources: v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}},
	}}}}
	validation.Default(pod)
	c := pod.Spec.Containers[0]
	fmt.Println(pod.Spec.RestartPolicy, *pod.Spec.TerminationGracePeriodSeconds, c.ImagePullPolicy, c.Resources.Requests.Cpu())
	// Output:
	// Always 30 Always 1
}

// A caller that could not read some fields, because they are no text or no number in
// some file, hears of the others only.
func ExampleValidatePartial() {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{
		Containers: []v1.Container{{Name: "c"}},
	}}
	validation.Default(pod)
	fmt.Println(validation.Validate(pod).ToAggregate())
	fmt.Println(validation.ValidatePartial(pod, []string{"spec.containers[0].image"}).ToAggregate())
	// Output:
	// spec.containers[0].image: Required value: expected the name of an image
	// <nil>
}

func ExampleReferences() {
	pod := &v1.Pod{Spec: v1.PodSpec{
		ServiceAccountName: "builder",
		Volumes:            []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}}},
	}}
	for _, err := range validation.References(pod, validation.Available{ConfigMaps: true}) {
		fmt.Println(err.Field, err.Type)
	}
	// Output:
	// spec.serviceAccountName Forbidden
}
