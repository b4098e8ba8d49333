package images

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// maxAuths is how many credentials are tried for an image.
const maxAuths = 16

// entry is a credential and where it is good for.
type entry struct {
	host, path string // the host may be a pattern
	pattern    bool
	auth       runtime.Auth
}

// readCredentials finds what goes with an image in the data of Secrets. Its error
// names the Secrets that cannot be read; what the others say is good all the
// same.
func readCredentials(image string, secrets []v1.Secret) ([]runtime.Auth, error) {
	host, name := split(parse(image).path)
	var found []entry
	var faults []string
	for i := range secrets {
		entries, err := read(&secrets[i])
		if err != nil {
			faults = append(faults, fmt.Sprintf("secret %s: %v", secrets[i].Name, err))
		}
		for _, e := range entries {
			if e.covers(host, name) {
				found = append(found, e)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b entry) int {
		return cmp.Or(cmp.Compare(len(b.path), len(a.path)), order(a.pattern, b.pattern))
	})
	var auths []runtime.Auth
	for _, e := range found {
		if len(auths) < maxAuths && !slices.Contains(auths, e.auth) {
			auths = append(auths, e.auth)
		}
	}
	if len(faults) > 0 {
		return auths, fmt.Errorf("registry: %s", strings.Join(faults, "; "))
	}
	return auths, nil
}

// order puts what is false before what is true.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// covers reports whether the credential is for an image.
func (e entry) covers(host, name string) bool {
	if e.path != "" && name != e.path && !strings.HasPrefix(name, e.path+"/") {
		return false
	}
	if !e.pattern {
		return host == e.host
	}
	// A star stands for one label of the host, or a part of one.
	labels, want := strings.Split(host, "."), strings.Split(e.host, ".")
	if len(labels) != len(want) {
		return false
	}
	for i := range labels {
		if ok, err := path.Match(want[i], labels[i]); !ok || err != nil {
			return false
		}
	}
	return true
}

// docker is an entry of a docker configuration.
type docker struct {
	Username      string `json:"username"`
	Password      string `json:"password"`
	Auth          string `json:"auth"`
	IdentityToken string `json:"identitytoken"`
}

// read reads a Secret of one of the docker kinds. One of another kind has none.
func read(secret *v1.Secret) ([]entry, error) {
	var auths map[string]docker
	var err error
	if data, ok := secret.Data[v1.DockerConfigJsonKey]; ok && secret.Type == v1.SecretTypeDockerConfigJson {
		var config struct {
			Auths map[string]docker `json:"auths"`
		}
		err = json.Unmarshal(data, &config)
		auths = config.Auths
	} else if data, ok := secret.Data[v1.DockerConfigKey]; ok && secret.Type == v1.SecretTypeDockercfg {
		err = json.Unmarshal(data, &auths)
	}
	if err != nil {
		return nil, fmt.Errorf("not a docker configuration") // Its text may quote what is secret.
	}
	var entries []entry
	var faults []string
	for _, location := range slices.Sorted(maps.Keys(auths)) {
		e, err := locate(location)
		if err == nil {
			e.auth, err = auths[location].credential()
		}
		if err != nil {
			faults = append(faults, fmt.Sprintf("%q: %v", location, err))
			continue
		}
		entries = append(entries, e)
	}
	if len(faults) > 0 {
		return entries, fmt.Errorf("%s", strings.Join(faults, ", "))
	}
	return entries, nil
}

// locate reads where a credential is good for: [scheme://]host[:port][/path],
// where the path may begin with the version of an API.
func locate(location string) (entry, error) {
	if _, rest, ok := strings.Cut(location, "://"); ok {
		location = rest
	}
	host, name, _ := strings.Cut(location, "/")
	for _, version := range []string{"v1", "v2"} {
		if name == version || strings.HasPrefix(name, version+"/") {
			name = strings.TrimPrefix(name[2:], "/")
			break
		}
	}
	if host == "" {
		return entry{}, fmt.Errorf("no host")
	}
	host = canonicalHost(host)
	return entry{host: host, path: strings.TrimSuffix(name, "/"), pattern: strings.ContainsAny(host, "*?[")}, nil
}

// credential is what an entry has in it: "auth" is both names in one.
func (d docker) credential() (runtime.Auth, error) {
	auth := runtime.Auth{Username: d.Username, Password: d.Password, Token: d.IdentityToken}
	if d.Auth == "" {
		return auth, nil
	}
	text, err := base64.StdEncoding.DecodeString(d.Auth)
	if err != nil {
		text, err = base64.RawStdEncoding.DecodeString(d.Auth)
	}
	user, password, ok := strings.Cut(string(text), ":")
	if err != nil || !ok {
		return runtime.Auth{}, fmt.Errorf("auth is not the base64 of user:password")
	}
	auth.Username, auth.Password = user, strings.Trim(password, "\x00")
	return auth, nil
}
