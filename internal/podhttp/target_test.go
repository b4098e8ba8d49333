package podhttp_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podkeel/podkeel/internal/podhttp"
)

func TestTarget(t *testing.T) {
	for _, c := range []struct {
		scheme     v1.URIScheme
		host, path string
		want       string
	}{
		{"", "192.0.2.1", "/a?b=c", "http://192.0.2.1:80/a?b=c"},
		{"HTTPS", "fd00::1", "a%2Fb", "https://[fd00::1]:80/a%2Fb"},
		{"https", "h", "//evil:1/x", "https://h:80/x"},
		{"HTTP", "h", "http://evil/x#y", "http://h:80/x"},
	} {
		got, err := podhttp.Target(c.scheme, c.host, 80, c.path)
		require.NoError(t, err)
		assert.Equal(t, c.want, got.String())
	}
	_, err := podhttp.Target("", "h", 80, "%zz")
	assert.Error(t, err)
}

func TestResolvePort(t *testing.T) {
	ports := []v1.ContainerPort{{Name: "web", ContainerPort: 8080}, {Name: "web", ContainerPort: 1}, {Name: "80", ContainerPort: 81}}
	for _, c := range []struct {
		port intstr.IntOrString
		want int
		ok   bool
	}{
		{intstr.FromInt32(80), 80, true}, {intstr.FromString("web"), 8080, true}, {intstr.FromString("80"), 81, true},
		{intstr.FromString("82"), 0, false}, {intstr.FromString("no"), 0, false}, {intstr.FromInt32(0), 0, false},
		{intstr.FromInt32(65535), 65535, true}, {intstr.FromInt32(65536), 65536, false}, {intstr.FromInt32(1), 1, true},
	} {
		got, ok := podhttp.ResolvePort(c.port, ports)
		assert.Equal(t, c.want, got, c.port.String())
		assert.Equal(t, c.ok, ok, c.port.String())
	}
}
