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

// maxAuths bounds the credentials that are tried for an image.
const maxAuths = 16

// registryCredential is a credential and the location that it is for.
type registryCredential struct {
	host, path string // the location; the host may be a pattern
	pattern    bool
	auth       runtime.Auth
}

// credentialsForImage returns the credentials for an image, taken from the Secrets, at most maxAuths. The
// credential with the longest path comes first, and a host pattern after an exact host. The error names the
// Secrets that cannot be read; the credentials of the other Secrets are still returned.
func credentialsForImage(image string, secrets []v1.Secret) ([]runtime.Auth, error) {
	host, name := splitRegistryHost(splitImageName(image).path)
	var found []registryCredential
	var faults []string
	for i := range secrets {
		entries, err := parseSecretCredentials(&secrets[i])
		if err != nil {
			faults = append(faults, fmt.Sprintf("secret %s: %v", secrets[i].Name, err))
		}
		for _, e := range entries {
			if e.matchesImage(host, name) {
				found = append(found, e)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b registryCredential) int {
		return cmp.Or(cmp.Compare(len(b.path), len(a.path)), compareBools(a.pattern, b.pattern))
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

// compareBools is a comparison for sorting in which false is less than true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// matchesImage reports whether a credential applies to an image. Its host, or host pattern, must match the
// registry host. Its path must be empty, equal to name or a parent of name, which is the path of the image in
// the registry.
func (e registryCredential) matchesImage(host, name string) bool {
	if e.path != "" && name != e.path && !strings.HasPrefix(name, e.path+"/") {
		return false
	}
	if !e.pattern {
		return host == e.host
	}
	// A star matches one label of the host, or a part of a label.
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

// dockerConfigEntry is one entry of a docker configuration.
type dockerConfigEntry struct {
	Username      string `json:"username"`
	Password      string `json:"password"`
	Auth          string `json:"auth"`
	IdentityToken string `json:"identitytoken"`
}

// parseSecretCredentials returns the credentials in a Secret of the type dockerconfigjson or dockercfg. A
// Secret of another type has none. The error names the entries that cannot be parsed, without their secrets;
// the other entries are still returned.
func parseSecretCredentials(secret *v1.Secret) ([]registryCredential, error) {
	var auths map[string]dockerConfigEntry
	var err error
	if data, ok := secret.Data[v1.DockerConfigJsonKey]; ok && secret.Type == v1.SecretTypeDockerConfigJson {
		var config struct {
			Auths map[string]dockerConfigEntry `json:"auths"`
		}
		err = json.Unmarshal(data, &config)
		auths = config.Auths
	} else if data, ok := secret.Data[v1.DockerConfigKey]; ok && secret.Type == v1.SecretTypeDockercfg {
		err = json.Unmarshal(data, &auths)
	}
	if err != nil {
		return nil, fmt.Errorf("not a docker configuration") // The error of the parser may quote a secret.
	}
	var entries []registryCredential
	var faults []string
	for _, location := range slices.Sorted(maps.Keys(auths)) {
		e, err := parseCredentialLocation(location)
		if err == nil {
			e.auth, err = auths[location].decodeAuth()
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

// parseCredentialLocation parses the location of a credential, [scheme://]host[:port][/path], into host and
// path. It removes an API version such as "v1/" at the beginning of the path. A missing host is an error.
func parseCredentialLocation(location string) (registryCredential, error) {
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
		return registryCredential{}, fmt.Errorf("no host")
	}
	host = canonicalHost(host)
	return registryCredential{host: host, path: strings.TrimSuffix(name, "/"), pattern: strings.ContainsAny(host, "*?[")}, nil
}

// decodeAuth returns the user, password and token of a docker configuration entry. If the field "auth" is set,
// it decodes the user and the password from that. An invalid "auth" is an error.
func (d dockerConfigEntry) decodeAuth() (runtime.Auth, error) {
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
