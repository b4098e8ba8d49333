package plan

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// crashLoopKey returns a text that differs if the image, the requests or the limits of a container differ. With
// another key the crash-loop back-off starts over. A nil container has an empty key.
func crashLoopKey(c *v1.Container) string {
	if c == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(c.Image)
	for _, list := range [...]v1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
		names := make([]string, 0, len(list))
		for name := range list {
			names = append(names, string(name))
		}
		slices.Sort(names)
		for _, name := range names {
			writeQuantity(&b, name, list[v1.ResourceName(name)])
		}
		b.WriteByte('|')
	}
	return b.String()
}

// writeQuantity writes a space and "name=quantity" to b.
func writeQuantity(b *strings.Builder, name string, q resource.Quantity) {
	b.WriteByte(' ')
	b.WriteString(name)
	b.WriteByte('=')
	b.WriteString(q.String())
}
