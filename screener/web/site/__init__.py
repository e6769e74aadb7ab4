"""The site: visits, forms, pages and what every page shares."""
