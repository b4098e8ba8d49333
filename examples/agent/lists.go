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

// setCapacity reads what the node has.
func (o *options) setCapacity(s string) error {
	o.capacity = v1.ResourceList{}
	return pairs(s, "NAME=QUANTITY", func(name, value string) error {
		if len(validation.IsQualifiedName(name)) > 0 {
			return fmt.Errorf("%q is no name of a resource", name)
		}
		q, err := podspec.ParseQuantity(value)
		if err != nil || q.Sign() < 0 {
			return fmt.Errorf("%s=%s: expected a quantity, such as 4, 500m or 8Gi", name, value)
		}
		o.capacity[v1.ResourceName(name)] = q
		return nil
	})
}

// setLabels reads the labels of the node.
func (o *options) setLabels(s string) error {
	o.labels = map[string]string{}
	return pairs(s, "KEY=VALUE", func(key, value string) error {
		if len(validation.IsQualifiedName(key)) > 0 {
			return fmt.Errorf("%q is no key of a label", key)
		}
		if len(validation.IsValidLabelValue(value)) > 0 {
			return fmt.Errorf("%q is no value of a label", value)
		}
		o.labels[key] = value
		return nil
	})
}

// setRuntimeClasses reads the handlers of runtime classes.
func (o *options) setRuntimeClasses(s string) error {
	o.handlers = map[string]string{}
	return pairs(s, "CLASS=HANDLER", func(class, handler string) error {
		if len(validation.IsDNS1123Subdomain(class)) > 0 {
			return fmt.Errorf("%q is no name of a runtime class", class)
		}
		if len(validation.IsDNS1123Label(handler)) > 0 {
			return fmt.Errorf("%q is no name of a handler", handler)
		}
		o.handlers[class] = handler
		return nil
	})
}

// pairs reads names with values, each name once.
func pairs(s, form string, set func(name, value string) error) error {
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("expected %s, and more of them after commas", form)
		}
		if seen[name] {
			return fmt.Errorf("%s is said twice", name)
		}
		seen[name] = true
		if err := set(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) setClusterDNS(s string) error {
	o.dns.ClusterDNS = nil
	for address := range strings.SplitSeq(s, ",") {
		if _, err := netip.ParseAddr(address); err != nil {
			return fmt.Errorf("%q is no address", address)
		}
		o.dns.ClusterDNS = append(o.dns.ClusterDNS, address)
	}
	return nil
}

func (o *options) setClusterDomain(s string) error {
	o.dns.ClusterDomain = strings.ToLower(strings.TrimSuffix(s, "."))
	if len(validation.IsDNS1123Subdomain(o.dns.ClusterDomain)) > 0 {
		return errors.New("expected a DNS name, such as cluster.local")
	}
	return nil
}

func percent(n *int) func(string) error {
	return func(s string) (err error) {
		if *n, err = strconv.Atoi(s); err != nil || *n < 1 || *n > 100 {
			return errors.New("expected a percentage from 1 to 100")
		}
		return nil
	}
}
