package images

import (
	"errors"
	"fmt"
	"strings"
)

// defaultHost is where an image is from that does not say.
const defaultHost = "docker.io"

// Normalize returns the name of an image with its tag: latest if it has neither tag nor digest.
// It returns an error if no registry can have the name.
func Normalize(image string) (string, error) {
	if image == "" {
		return "", errors.New("the image has no name")
	}
	for _, r := range image {
		if r <= ' ' || r > '~' {
			return "", fmt.Errorf("couldn't parse image name %q: character %q", image, r)
		}
	}
	n := parse(image)
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

// name is an image's name in parts.
type name struct {
	path     string // host and all
	tag      string
	digest   string
	tagged   bool
	byDigest bool
}

func parse(image string) name {
	var n name
	n.path, n.digest, n.byDigest = strings.Cut(image, "@")
	if at := strings.LastIndexByte(n.path, ':'); at > strings.LastIndexByte(n.path, '/') {
		n.path, n.tag, n.tagged = n.path[:at], n.path[at+1:], true
	}
	return n
}

// Aliases returns the forms of one name or reference of an image, at most three. Two names of one
// image have a form in common. One of the forms is among the Names of the image.
func Aliases(image string) []string {
	if isDigest(image) {
		return []string{image}
	}
	n := parse(image)
	host, path := split(n.path)
	whole := host + "/" + path
	switch {
	case n.byDigest && n.tagged:
		return []string{whole + ":" + n.tag, whole + "@" + n.digest, n.digest}
	case n.byDigest:
		return []string{whole + "@" + n.digest, n.digest}
	case n.tagged:
		return []string{whole + ":" + n.tag}
	}
	// What has neither may be the ID of an image as well.
	return []string{whole + ":latest", image}
}

// isDigest tells "sha256:0123..." from "image:tag".
func isDigest(image string) bool {
	algorithm, sum, _ := strings.Cut(image, ":")
	return (algorithm == "sha256" || algorithm == "sha512") && len(sum) >= 64 && !strings.ContainsAny(sum, "/@:")
}

// split gives the host of a path, and the path on it.
func split(path string) (host, rest string) {
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

func canonicalHost(host string) string {
	host = strings.ToLower(host)
	if host == "index.docker.io" || host == "registry-1.docker.io" {
		return defaultHost
	}
	return host
}

// registryHost is the registry that an image comes from.
func registryHost(image string) string {
	host, _ := split(parse(image).path)
	return host
}
