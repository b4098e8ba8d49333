package volume

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/podspec"
)

// IsHugePages reports whether a medium is memory in huge pages.
func IsHugePages(medium v1.StorageMedium) bool {
	return medium == v1.StorageMediumHugePages || strings.HasPrefix(string(medium), string(v1.StorageMediumHugePagesPrefix))
}

// PageSize returns the page size in bytes of an emptyDir in huge pages. The pod must request pages of
// that size. If the medium names no size, the pod must request pages of exactly one size.
func PageSize(pod *v1.Pod, medium v1.StorageMedium) (int64, error) {
	want, err := mediumPageSize(medium)
	if err != nil {
		return 0, err
	}
	requested := requestedPageSizes(pod)
	switch {
	case want != 0 && !slices.Contains(requested, want):
		return 0, fmt.Errorf("the pod requests no huge pages of the size of the medium %s", medium)
	case want != 0:
		return want, nil
	case len(requested) == 0:
		return 0, fmt.Errorf("the pod requests no huge pages, which the medium %s needs", medium)
	case len(requested) > 1:
		return 0, fmt.Errorf("the pod requests huge pages of several sizes, and the medium %s does not say which", medium)
	}
	return requested[0], nil
}

// mediumPageSize returns the huge page size in bytes from an emptyDir medium such as "HugePages-2Mi". It
// returns 0 if the medium does not begin with "HugePages-", and an error if the size after it is invalid.
func mediumPageSize(medium v1.StorageMedium) (int64, error) {
	size, ok := strings.CutPrefix(string(medium), string(v1.StorageMediumHugePagesPrefix))
	if !ok {
		return 0, nil
	}
	q, err := podspec.ParseQuantity(size)
	if err != nil || q.Sign() <= 0 {
		return 0, fmt.Errorf("%q names no size of pages", string(medium))
	}
	return q.Value(), nil
}

// requestedPageSizes returns the huge page sizes in bytes that the pod or its init and regular containers
// request, sorted and without duplicates.
func requestedPageSizes(pod *v1.Pod) []int64 {
	sizes := map[int64]bool{}
	of := func(r *v1.ResourceRequirements) {
		for _, list := range [...]v1.ResourceList{r.Requests, r.Limits} { // The API requires equal requests and limits of huge pages.
			for name := range list {
				size, ok := strings.CutPrefix(string(name), v1.ResourceHugePagesPrefix)
				if q, err := podspec.ParseQuantity(size); ok && err == nil {
					sizes[q.Value()] = true
				}
			}
		}
	}
	for i := range pod.Spec.InitContainers {
		of(&pod.Spec.InitContainers[i].Resources)
	}
	for i := range pod.Spec.Containers {
		of(&pod.Spec.Containers[i].Resources)
	}
	if pod.Spec.Resources != nil {
		of(pod.Spec.Resources)
	}
	return slices.Sorted(maps.Keys(sizes))
}
