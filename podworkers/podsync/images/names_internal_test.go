package images

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/runtime"
)

const zero = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

// IM-1: the tag that goes without saying.
func TestNormalize_IM1(t *testing.T) {
	for image, want := range map[string]string{
		"img":                   "img:latest",
		"img:1":                 "img:1",
		"img@" + zero:           "img@" + zero,
		"host:5000/some/img":    "host:5000/some/img:latest",
		"HOST/img":              "HOST/img:latest",
		"img:":                  "",
		"img@sha256":            "",
		"host//img":             "",
		"Img":                   "",
		"bild:größe":            "",
		"":                      "",
		strings.Repeat("/", 99): "",
	} {
		got, err := Normalize(image)
		assert.Equal(t, want, got, "%q", image)
		assert.Equal(t, want == "", err != nil, "%q", image)
	}
}

// Two names of one image have an alias in common, two of different ones none.
func TestAliases(t *testing.T) {
	for _, same := range [][]string{
		{"nginx", "nginx:latest", "docker.io/nginx", "docker.io/library/nginx:latest", "index.docker.io/library/nginx"},
		{"me/app:1", "docker.io/me/app:1"},
		{"host:5000/app", "HOST:5000/app:latest"},
		{"localhost/app:1", "localhost/app:1"},
		{zero, "nginx@" + zero, "docker.io/library/nginx@" + zero, "nginx:1@" + zero},
		{"nginx:1", "nginx:1@" + zero},
		{"0123abcd", "0123abcd"},
	} {
		for _, b := range same {
			assert.True(t, sameImage(same[0], b), "%s and %s", same[0], b)
		}
	}
	for _, pair := range [][2]string{
		{"nginx:1", "nginx:2"}, {"nginx", "me/nginx"}, {"nginx", "host.io/nginx"}, {"host:1/app", "host:2/app"}, {zero, zero[:len(zero)-1] + "1"},
	} {
		assert.False(t, sameImage(pair[0], pair[1]), "%s and %s", pair[0], pair[1])
	}
}

func sameImage(a, b string) bool {
	for _, x := range Aliases(a) {
		for _, y := range Aliases(b) {
			if x == y {
				return true
			}
		}
	}
	return false
}

func TestHost(t *testing.T) {
	for image, want := range map[string]string{
		"nginx": "docker.io", "me/app": "docker.io", "host.io/a/b:1": "host.io", "host:5000/a": "host:5000", "localhost/a": "localhost",
	} {
		assert.Equal(t, want, registryHost(image))
	}
}

// secretOf is a Secret with credentials for locations: the user's name has the
// location's number.
func secretOf(name string, locations ...string) v1.Secret {
	var auths []string
	for i, location := range locations {
		user := fmt.Sprintf("%s%d", name, i)
		auths = append(auths, fmt.Sprintf(`%q: {"auth": %q}`, location, base64.StdEncoding.EncodeToString([]byte(user+":pw:"+user))))
	}
	return v1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Type:       v1.SecretTypeDockerConfigJson,
		Data:       map[string][]byte{v1.DockerConfigJsonKey: []byte(`{"auths": {` + strings.Join(auths, ", ") + `}}`)},
	}
}

func users(t *testing.T, image string, secrets ...v1.Secret) []string {
	t.Helper()
	auths, err := credentialsForImage(image, secrets)
	require.NoError(t, err)
	var users []string
	for _, a := range auths {
		assert.Equal(t, "pw:"+a.Username, a.Password)
		users = append(users, a.Username)
	}
	return users
}

// All that cover the image, the most particular first.
func TestCredentials_Order(t *testing.T) {
	a := secretOf("a", "host.io", "https://host.io/v2/team/app", "*.io", "host.io/team/", "other.io")
	b := secretOf("b", "host.io/team")
	assert.Equal(t, []string{"a1", "a3", "b0", "a0", "a2"}, users(t, "host.io/team/app:1", a, b))
	assert.Equal(t, []string{"a0", "a2"}, users(t, "host.io/teammate:1", a, b), "whole components")
	assert.Empty(t, users(t, "host.io:5000/team/app", a, b), "another port")
	assert.Empty(t, users(t, "a.host.io/x", a, b), "a star is one label")
	assert.Empty(t, users(t, "quay.example/team/app", a, b))
}

func TestCredentials_Docker(t *testing.T) {
	for _, location := range []string{"https://index.docker.io/v1/", "docker.io", "registry-1.docker.io", "docker.io/library", "index.docker.io/v2/library/nginx"} {
		assert.Equal(t, []string{"a0"}, users(t, "nginx", secretOf("a", location)), location)
	}
}

// The older kind, and the fields that stand alone.
func TestCredentials_Kinds(t *testing.T) {
	old := v1.Secret{Type: v1.SecretTypeDockercfg, Data: map[string][]byte{
		v1.DockerConfigKey: []byte(`{"host.io": {"username": "u", "password": "p"}, "https://host.io/a": {"identitytoken": "t"}}`),
	}}
	opaque := v1.Secret{Type: v1.SecretTypeOpaque, Data: map[string][]byte{v1.DockerConfigJsonKey: []byte("{")}}
	auths, err := credentialsForImage("host.io/a/b", []v1.Secret{opaque, old})
	require.NoError(t, err)
	assert.Equal(t, []runtime.Auth{{Token: "t"}, {Username: "u", Password: "p"}}, auths)
}

// The error names the entries that cannot be read, without their secrets. The other entries are used.
func TestCredentials_Faults(t *testing.T) {
	broken := secretOf("broken")
	broken.Data[v1.DockerConfigJsonKey] = []byte(`{"auths": {"host.io": {"auth": "c2VjcmV0"}, "/": {}, "host.io/a": {"username": "u"}}}`)
	garbage := secretOf("garbage")
	garbage.Data[v1.DockerConfigJsonKey] = []byte(`{"auths": hunter2`)
	auths, err := credentialsForImage("host.io/a", []v1.Secret{garbage, broken, secretOf("good", "host.io")})
	require.EqualError(t, err, `registry: secret garbage: not a docker configuration; secret broken: "/": no host, "host.io": auth is not the base64 of user:password`)
	assert.Equal(t, []runtime.Auth{{Username: "u"}, {Username: "good0", Password: "pw:good0"}}, auths)
}

// Many credentials do not turn one pull into a thousand pulls.
func TestCredentials_Bounded(t *testing.T) {
	var locations []string
	for i := range 1000 {
		locations = append(locations, fmt.Sprintf("https://host.io/%s", strings.Repeat("a/", i)))
	}
	assert.Len(t, users(t, "host.io/"+strings.Repeat("a/", 1000)+"b", secretOf("a", locations...)), maxAuths)
	same := secretOf("b", "host.io")
	assert.Len(t, users(t, "host.io/x", same, same), 1, "one credential is tried once")
}

func FuzzNames(f *testing.F) {
	for _, seed := range []string{"nginx", "a/b:c@sha256:d", ":", "@", "a:/b", "//", "LOCAL/x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, image string) {
		name, err := Normalize(image)
		_, _ = credentialsForImage(image, []v1.Secret{secretOf("a", image)})
		assert.NotEmpty(t, Aliases(image))
		if err == nil {
			again, err := Normalize(name)
			assert.NoError(t, err)
			assert.Equal(t, name, again)
			assert.True(t, sameImage(image, name) || strings.Contains(image, "sha"), "%q", image)
		}
	})
}
