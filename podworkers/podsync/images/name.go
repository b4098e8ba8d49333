package images

import (
	"errors"
	"fmt"
	"strings"
)

// defaultHost is the registry of a name without a host.
const defaultHost = "docker.io"

// Normalize returns the name of an image with a tag: latest if it has neither tag nor digest. It
// returns an error if no registry accepts the name.
func Normalize(image string) (string, error) {
	if image == "" {
		return "", errors.New("the image has no name")
	}
	for _, r := range image {
		if r <= ' ' || r > '~' {
			return "", fmt.Errorf("couldn't parse image name %q: character %q", image, r)
		}
	}
	n := splitImageName(image)
	base := n.path[strings.LastIndexByte(n.path, '/')+1:]
	switch {
	case base == "" || strings.Contains(n.path, "//"):
		return "", fmt.Errorf("couldn't parse image name %q: a part is missing", image)
	case base != strings.ToLower(base):
		return "", fmt.Errorf("couldn't parse image name %q: repository name must be lower case", image)
	case n.tagged && n.tag == "", n.byDigest && !strings.Contains(n.digest, ":"):
		return "", fmt.Errorf("couldn't parse image name %q: tag or digest is incomplete", image)
	case n.tagged || n.byDigest:
		return image, nil
	}
	return image + ":latest", nil
}

// imageName is the name of an image in parts.
type imageName struct {
	path     string // the host and the path on it
	tag      string
	digest   string
	tagged   bool
	byDigest bool
}

// splitImageName splits an image name into path, tag and digest. The tag and the digest may be missing.
func splitImageName(image string) imageName {
	var n imageName
	n.path, n.digest, n.byDigest = strings.Cut(image, "@")
	if at := strings.LastIndexByte(n.path, ':'); at > strings.LastIndexByte(n.path, '/') {
		n.path, n.tag, n.tagged = n.path[:at], n.path[at+1:], true
	}
	return n
}

// Aliases returns the forms of one name or reference of an image, at most three. Two names of one image
// have a form in common. One of the forms is among the Names of the image.
func Aliases(image string) []string {
	if isBareDigest(image) {
		return []string{image}
	}
	n := splitImageName(image)
	host, path := splitRegistryHost(n.path)
	whole := host + "/" + path
	switch {
	case n.byDigest && n.tagged:
		return []string{whole + ":" + n.tag, whole + "@" + n.digest, n.digest}
	case n.byDigest:
		return []string{whole + "@" + n.digest, n.digest}
	case n.tagged:
		return []string{whole + ":" + n.tag}
	}
	// A name without tag and digest may also be the ID of an image.
	return []string{whole + ":latest", image}
}

// isBareDigest reports whether an image reference consists only of a sha256 or sha512 digest, such as
// "sha256:0123…", without a name.
func isBareDigest(image string) bool {
	algorithm, sum, _ := strings.Cut(image, ":")
	return (algorithm == "sha256" || algorithm == "sha512") && len(sum) >= 64 && !strings.ContainsAny(sum, "/@:")
}

// splitRegistryHost splits the path of an image into the registry host and the path on that host. A path
// without a host belongs to Docker Hub, where a single name is in "library/".
func splitRegistryHost(path string) (host, rest string) {
	first, rest, several := strings.Cut(path, "/")
	if several && (strings.ContainsAny(first, ".:") || first == "localhost" || first != strings.ToLower(first)) {
		host = first
	} else {
		host, rest = defaultHost, path
	}
	if host = canonicalHost(host); host == defaultHost && !strings.Contains(rest, "/") {
		rest = "library/" + rest
	}
	return host, rest
}

// canonicalHost returns a registry host in lower case. It replaces the other hosts of Docker Hub by docker.io.
func canonicalHost(host string) string {
	host = strings.ToLower(host)
	if host == "index.docker.io" || host == "registry-1.docker.io" {
		return defaultHost
	}
	return host
}

// registryHost returns the canonical registry host of an image name. Without a host that is Docker Hub.
func registryHost(image string) string {
	host, _ := splitRegistryHost(splitImageName(image).path)
	return host
}
