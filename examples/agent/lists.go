package main

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podkeel/podkeel/internal/podspec"
)

// setCapacity parses NAME=QUANTITY pairs, separated by commas, and replaces the capacity of the node by them.
// It returns an error for an invalid name, and for an invalid or negative quantity.
func (o *options) setCapacity(s string) error {
	o.capacity = v1.ResourceList{}
	return parsePairs(s, "NAME=QUANTITY", func(name, value string) error {
		if len(validation.IsQualifiedName(name)) > 0 {
			return fmt.Errorf("%q is not a resource name", name)
		}
		q, err := podspec.ParseQuantity(value)
		if err != nil || q.Sign() < 0 {
			return fmt.Errorf("%s=%s: expected a quantity, such as 4, 500m or 8Gi", name, value)
		}
		o.capacity[v1.ResourceName(name)] = q
		return nil
	})
}

// setLabels parses KEY=VALUE pairs, separated by commas, and replaces the labels of the node by them. It
// returns an error for an invalid key or value.
func (o *options) setLabels(s string) error {
	o.labels = map[string]string{}
	return parsePairs(s, "KEY=VALUE", func(key, value string) error {
		if len(validation.IsQualifiedName(key)) > 0 {
			return fmt.Errorf("%q is not a label key", key)
		}
		if len(validation.IsValidLabelValue(value)) > 0 {
			return fmt.Errorf("%q is not a label value", value)
		}
		o.labels[key] = value
		return nil
	})
}

// setRuntimeClasses parses CLASS=HANDLER pairs, separated by commas. It replaces the map from RuntimeClass
// names to handlers of the runtime by them. It returns an error for an invalid name of a class or handler.
func (o *options) setRuntimeClasses(s string) error {
	o.handlers = map[string]string{}
	return parsePairs(s, "CLASS=HANDLER", func(class, handler string) error {
		if len(validation.IsDNS1123Subdomain(class)) > 0 {
			return fmt.Errorf("%q is not the name of a runtime class", class)
		}
		if len(validation.IsDNS1123Label(handler)) > 0 {
			return fmt.Errorf("%q is not the name of a handler", handler)
		}
		o.handlers[class] = handler
		return nil
	})
}

// parsePairs parses NAME=VALUE pairs, separated by commas, and calls set for each. It returns an error for a
// repeated name, and the first error of set.
func parsePairs(s, syntax string, set func(name, value string) error) error {
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("expected %s, separated by commas", syntax)
		}
		if seen[name] {
			return fmt.Errorf("%s is given twice", name)
		}
		seen[name] = true
		if err := set(name, value); err != nil {
			return err
		}
	}
	return nil
}

// setClusterDNS parses IP addresses, separated by commas, and stores them as the cluster's name servers. It
// returns an error if one is no IP address.
func (o *options) setClusterDNS(s string) error {
	o.dns.ClusterDNS = nil
	for address := range strings.SplitSeq(s, ",") {
		if _, err := netip.ParseAddr(address); err != nil {
			return fmt.Errorf("%q is not an IP address", address)
		}
		o.dns.ClusterDNS = append(o.dns.ClusterDNS, address)
	}
	return nil
}

// setClusterDomain stores the DNS domain of the cluster, in lower case and without a final dot. It returns an
// error if s is no DNS name.
func (o *options) setClusterDomain(s string) error {
	o.dns.ClusterDomain = strings.ToLower(strings.TrimSuffix(s, "."))
	if len(validation.IsDNS1123Subdomain(o.dns.ClusterDomain)) > 0 {
		return errors.New("expected a DNS name, such as cluster.local")
	}
	return nil
}

// percentFlag returns a function that parses a percentage from 1 to 100 and stores it in n. The function
// returns an error for any other text.
func percentFlag(n *int) func(string) error {
	return func(s string) (err error) {
		if *n, err = strconv.Atoi(s); err != nil || *n < 1 || *n > 100 {
			return errors.New("expected a percentage from 1 to 100")
		}
		return nil
	}
}
