//! Infoblox WAPI as a provider.
